import WakeSystem

/// Reads the rows of one table: their form, their order, and what they look like.
struct RegistrationRows: RecordReader {
    private let form: RecordLayout
    private let opening: RowDecryption?
    private var columns: [ColumnStatistics]
    private var previous: [UInt8] = []
    private(set) var count = 0
    /// Eight bytes of each id and of each nonce, to find what occurs twice.
    private(set) var ids: [UInt64] = []
    private(set) var nonces: [UInt64] = []

    /// - Parameter opening: with the keys of the table's generation, when they were given.
    init(_ form: RecordLayout, _ opening: RowDecryption?) {
        self.form = form
        self.opening = opening
        columns = form.lengths.map(ColumnStatistics.init(length:))
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
        if id.count >= 8 { ids.append(id.number64(at: 0)) }
        // Not the first eight bytes: what is hidden in a nonce is looked for elsewhere.
        if last.count >= 16 { nonces.append(last.number64(at: 8)) }
        opening?.check(id: id, sealed: last, &findings)
    }

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
        for column in columns { column.finish(&findings) }
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
