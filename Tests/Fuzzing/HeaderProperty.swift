import WakePush

/// The header decoder: bounded, the same for every beginning of a block, and the inverse of the
/// writer.
enum HeaderProperty {
    /// - Parameter input: blocks of one connection, each after a byte with its length.
    static func check(_ input: [UInt8]) throws(Violation) -> Bool {
        var decoder = HPACKDecoder()
        var list = HeaderList()
        var rest = input[...]
        while let length = rest.popFirst() {
            let block = Array(rest.prefix(Int(length)))
            rest = rest.dropFirst(Int(length))
            let before = decoder
            let error = decode(block, &decoder, &list)
            try checkBeginnings(block, before, list, error)
            try require(decoder.tableSize <= 4096, "a table larger than allowed")
            guard error == nil else { return false }
            try checkRoundTrip(list)
        }
        return list.count > 0
    }

    private static func decode(
        _ block: [UInt8], _ decoder: inout HPACKDecoder, _ list: inout HeaderList
    ) -> HPACKError? {
        do {
            try decoder.decode(block.span, into: &list)
            return nil
        } catch {
            return error
        }
    }

    /// A beginning of a good block is a beginning of its fields, or ends within one.
    private static func checkBeginnings(
        _ block: [UInt8], _ before: HPACKDecoder, _ whole: HeaderList, _ error: HPACKError?
    ) throws(Violation) {
        guard error == nil else { return }
        for cut in 0..<min(block.count, 40) {
            var decoder = before
            var list = HeaderList()
            switch decode(Array(block[..<cut]), &decoder, &list) {
            case nil:
                try require(list.count <= whole.count, "a beginning with more fields")
                for index in 0..<list.count {
                    try require(isSame(list, whole, index), "a beginning with other fields")
                }
            case .truncated: continue
            default: throw Violation("a beginning of a good block is refused")
            }
        }
    }

    private static func checkRoundTrip(_ list: HeaderList) throws(Violation) {
        for indexing in [HPACKWriter.Indexing.without, .incremental, .never] {
            var block: [UInt8] = []
            for index in 0..<list.count {
                HPACKWriter.literal(
                    name: Array(list.name(index)), value: Array(list.value(index)), indexing,
                    into: &block)
            }
            var decoder = HPACKDecoder()
            var again = HeaderList()
            try require(decode(block, &decoder, &again) == nil, "what was written is refused")
            try require(again.count == list.count, "a field is lost")
            for index in 0..<list.count {
                try require(isSame(list, again, index), "a field that changes")
            }
            // RFC 7541 §6.2.3: a literal that is never indexed begins with 0001.
            if let first = block.first {
                try require((first >> 4 == 1) == (indexing == .never), "a secret told apart")
            }
        }
    }

    private static func isSame(_ one: HeaderList, _ other: HeaderList, _ index: Int) -> Bool {
        one.name(index).elementsEqual(other.name(index))
            && one.value(index).elementsEqual(other.value(index))
    }
}
