import WakeSystem

/// Reads the rows of one table: their form, their order, and what they look like.
struct RegistrationRows: RecordReader {
    private let form: RecordLayout
    private let opening: RowDecryption?
    private var columns: [ColumnStatistics]
    /// Nonces with the first bytes of their row's id taken away: what was mixed with it shows.
    private var mixed: ColumnStatistics
    private var previous: [UInt8] = []
    private(set) var count = 0
    private(set) var samples = RowSamples()

    /// - Parameter opening: with the keys of the table's generation, when they were given.
    init(_ form: RecordLayout, _ opening: RowDecryption?) {
        self.form = form
        self.opening = opening
        columns = form.lengths.map(ColumnStatistics.init(length:))
        mixed = ColumnStatistics(length: Self.nonceBytes)
    }

    mutating func read(_ payload: Span<UInt8>, isWhole: Bool, _ findings: inout AuditFindings) {
        count += 1
        guard isWhole, payload.count == form.payloadCount,
            payload.extracting(0..<form.header.count).equals(form.header)
        else { return noteForm(payload, isWhole, &findings) }
        var start = form.header.count
        for index in columns.indices {
            let value = payload.extracting(start..<start + form.lengths[index])
            columns[index].take(value, &findings)
            start += form.lengths[index]
        }
        let id = payload.extracting(form.header.count..<form.header.count + form.lengths[0])
        findings.note(.rowOrder, if: !isAfterPrevious(id))
        previous.removeAll(keepingCapacity: true)
        previous.append(span: id)
        let last = payload.extracting((payload.count - (form.lengths.last ?? 0))...)
        if id.count >= Self.nonceBytes, last.count > 2 * Self.nonceBytes {
            samples.take(id: id, sealed: last, &findings)
            let mixture = (0..<Self.nonceBytes).map { id[$0] ^ last[$0] }
            mixed.take(mixture.span, &findings)
        }
        opening?.check(id: id, sealed: last, &findings)
    }

    /// XChaCha20-Poly1305
    private static let nonceBytes = 24

    /// memcmp order (sqlite.org/fileformat2.html §2.3)
    private func isAfterPrevious(_ id: Span<UInt8>) -> Bool {
        guard previous.count == id.count else { return true }
        for index in id.indices where id[index] != previous[index] {
            return id[index] > previous[index]
        }
        return false
    }

    private func noteForm(
        _ payload: Span<UInt8>, _ isWhole: Bool, _ findings: inout AuditFindings
    ) {
        guard let record = Record(payload), record.values.count == form.lengths.count
        else { return findings.note(.recordForm) }
        var isTypeWrong = false
        var isLengthWrong = !isWhole
        for (value, length) in zip(record.values, form.lengths) {
            switch value {
            case .blob(let range): isLengthWrong = isLengthWrong || range.count != length
            default: isTypeWrong = true
            }
        }
        findings.note(.valueType, if: isTypeWrong)
        findings.note(.valueLength, if: isLengthWrong)
        // Another spelling of the same numbers, or bytes behind the values.
        findings.note(.recordForm, if: !isTypeWrong && !isLengthWrong)
    }

    func finish(_ findings: inout AuditFindings) {
        for column in columns + [mixed] { column.finish(&findings) }
    }
}

/// Eight bytes of each row at some places, to find what occurs twice.
struct RowSamples {
    private var ids: [[UInt64]] = [[], []]
    private var nonces: [[UInt64]] = [[], []]
    private var ends: [UInt64] = []
    /// Scratch space of `repeats`.
    private var windows: [UInt64] = []

    /// - Parameter sealed: longer than two nonces.
    mutating func take(id: Span<UInt8>, sealed: Span<UInt8>, _ findings: inout AuditFindings) {
        ids[0].append(id.number64(at: 0))
        ids[1].append(id.number64(at: id.count - 8))
        // Not the first eight bytes: what is hidden in a nonce is looked for elsewhere.
        nonces[0].append(sealed.number64(at: 8))
        nonces[1].append(sealed.number64(at: 16))
        ends.append(sealed.number64(at: sealed.count - 8))
        findings.note(.repeatedValue, if: repeats(sealed))
    }

    /// Whether bytes occur twice in one value: of two equal runs of 64 bytes one window of eight is
    /// looked at but for one time in 2,000, at whatever distance; chance gives 1 in 10^15.
    private mutating func repeats(_ value: Span<UInt8>) -> Bool {
        windows.removeAll(keepingCapacity: true)
        for place in 0...value.count - 8 where value[place] < 32 {
            windows.append(value.number64(at: place))
        }
        windows.sort()
        return zip(windows, windows.dropFirst()).contains { $0 == $1 }
    }

    mutating func merge(_ other: RowSamples) {
        for index in ids.indices { ids[index] += other.ids[index] }
        for index in nonces.indices { nonces[index] += other.nonces[index] }
        ends += other.ends
    }

    consuming func finish(_ findings: inout AuditFindings) {
        findings.note(.repeatedID, count: ids.map(Repetition.count).max() ?? 0)
        findings.note(.repeatedNonce, count: nonces.map(Repetition.count).max() ?? 0)
        findings.note(.repeatedValue, count: Repetition.count(ends))
    }
}

/// Values that occur more than once, by eight bytes of each.
enum Repetition {
    /// - Returns: the number of repetitions; two are allowed among more than 2 million values,
    ///   where chance gives one pair in 10^7 audits.
    static func count(_ values: consuming [UInt64]) -> Int {
        var values = values
        values.sort()
        var equal = 0
        for index in values.indices.dropFirst() where values[index] == values[index - 1] {
            equal += 1
        }
        return values.count > 2_000_000 && equal <= 2 ? 0 : equal
    }
}
