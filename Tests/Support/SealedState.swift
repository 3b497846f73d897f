package import WakeModel
import WakeSystem

/// The bytes of a state file with these members and a correct checksum, whatever the members are.
package func sealedState<Record: StateRecord>(_ record: Record.Type, _ members: String) -> [UInt8] {
    let text =
        #"{"format":"\#(Record.format)","version":\#(Record.version),"state":{\#(members)}"#
    return Array(text.utf8) + checksumMember(of: Array(text.utf8))
}

/// Changes the text of a state file on disk and gives it a correct checksum again.
package func resealState(_ path: String, _ change: (String) throws -> String) throws {
    let bytes = try Files.read(path, limit: 1 << 16)
    let end = bytes.count - ",\"crc32\":\"01234567\"}\n".utf8.count
    let body = Array(try change(String(decoding: bytes[..<end], as: UTF8.self)).utf8)
    let sealed = body + checksumMember(of: body)
    try Files.replace(path, with: sealed.span)
}

/// Sets members of a state file on disk to other numbers or marks.
package func resealState(_ path: String, members: [String: String]) throws {
    try resealState(path) { text in
        try members.reduce(text) { text, member in
            guard let name = text.firstRange(of: "\"\(member.key)\":") else {
                throw TestFailure("no member \(member.key)")
            }
            let value = text[name.upperBound...].prefix { $0 != "," && $0 != "}" }
            return text.replacingCharacters(value.startIndex..<value.endIndex, member.value)
        }
    }
}

extension String {
    fileprivate func replacingCharacters(_ range: Range<Index>, _ text: String) -> String {
        String(self[..<range.lowerBound]) + text + self[range.upperBound...]
    }
}

private func checksumMember(of body: [UInt8]) -> [UInt8] {
    var number: [UInt8] = []
    number.append(bigEndian: CRC32.checksum(body.span))
    let digits = String(decoding: Hex.encode(number.span), as: UTF8.self)
    return Array(",\"crc32\":\"\(digits)\"}\n".utf8)
}
