import WakeModel
import WakeSystem

/// The texts of the privacy page in one language: `Resources/page.json`, an object for each
/// language. They are HTML; `{name}` stands for a value.
package struct PageText: Sendable {
    /// The members that every language has; ``columns`` and ``files`` beside them.
    package enum Part: String, CaseIterable, Sendable {
        case title, intro, paused, storedTitle, storedLead, bytes, storedNote, obliviousNote
        case timeTitle, timeEndless, timeDays
        case rightsTitle, rightsLead, see, seeText, change, changeText, delete, deleteText, programs
        case countsTitle, countsLead, countsCaption, countsWhat, countsNumber, countsNone
        case registrations, broadcasts
        case filesTitle, filesLead
        case checkTitle, checkPolicy, checkProgram, programRuns, programCommit
        case programChanged, programUnknown, programClaim, licence, auditNone, auditClean,
            auditFound, auditUnhashed
        case limitsTitle, limitsText, operatorTitle, operatorContact
    }

    /// As `lang` names it (BCP 47), without region.
    package let language: String
    private let texts: JSONValue

    /// English first.
    package static let all: [PageText] = {
        do throws(JSONError) {
            let document = try JSONValue(parsing: PackageResources.page_json)
            guard case .object(let languages) = document else { throw .malformed }
            let english = "en"
            let others = languages.keys.filter { $0 != english }.sorted()
            return ([english] + others).map { PageText(language: $0, texts: document[$0]) }
        } catch { preconditionFailure("page.json is an object of languages") }
    }()

    package subscript(part: Part) -> String { texts[part.rawValue].text }

    /// The description of a column; nil where the policy's own holds, which is English.
    package func column(_ name: String) -> String? { Self.given(texts["columns"][name].text) }

    /// The description of a file beside the database; nil as for columns.
    package func file(_ name: String) -> String? { Self.given(texts["files"][name].text) }

    private static func given(_ text: String) -> String? { text.isEmpty ? nil : text }

    /// A text with its values in place: HTML, too.
    package func callAsFunction(_ part: Part, _ values: [(name: String, value: String)]) -> String {
        values.reduce(self[part]) { $0.replacing("{\($1.name)}", with: $1.value) }
    }

    /// The place in ``all`` of the language that a reader likes best (RFC 9110 §12.5.4), by its
    /// first subtag alone; English for one that asks for none of them.
    package static func preferred(_ fields: [ArraySlice<UInt8>]) -> Int {
        let comma = UInt8(ascii: ",")
        var best = (place: 0, weight: 0)
        let ranges = fields.lazy.flatMap { $0.split(separator: comma, maxSplits: rangeLimit) }
        for range in ranges.prefix(rangeLimit) {
            guard let (tag, weight) = parse(range), weight > best.weight,
                let place = all.firstIndex(where: { $0.language.utf8.elementsEqual(tag) })
            else { continue }
            best = (place, weight)
        }
        return best.place
    }

    /// Browsers send ten at most.
    private static let rangeLimit = 32

    /// `de-AT;q=0.8`: the first subtag in lower case, and thousandths; nil when it is malformed.
    private static func parse(_ range: ArraySlice<UInt8>) -> (tag: [UInt8], weight: Int)? {
        let parts = range.filter { $0 != 0x20 && $0 != 0x09 }.split(separator: UInt8(ascii: ";"))
        guard (1...2).contains(parts.count) else { return nil }
        let tag = parts[0].prefix { $0 != UInt8(ascii: "-") }.map(\.lowercased)
        guard parts.count == 2 else { return (tag, 1000) }
        return weight(parts[1]).map { (tag, $0) }
    }

    /// RFC 9110 §12.4.2: `q=0`, `q=1`, or with up to three digits after the point.
    private static func weight(_ text: ArraySlice<UInt8>) -> Int? {
        guard text.prefix(2).map(\.lowercased).elementsEqual("q=".utf8) else { return nil }
        let digits = text.dropFirst(2)
        guard let first = digits.first, first == UInt8(ascii: "0") || first == UInt8(ascii: "1")
        else { return nil }
        let whole = first == UInt8(ascii: "1") ? 1000 : 0
        guard digits.count > 1 else { return whole }
        let fraction = digits.dropFirst(2)
        guard digits[digits.startIndex + 1] == UInt8(ascii: "."), fraction.count <= 3,
            fraction.allSatisfy(\.isDigit)
        else { return nil }
        var thousandths = 0
        for place in 0..<3 {
            let digit = fraction.dropFirst(place).first ?? UInt8(ascii: "0")
            thousandths = thousandths * 10 + Int(digit - UInt8(ascii: "0"))
        }
        return min(1000, whole + thousandths)
    }
}
