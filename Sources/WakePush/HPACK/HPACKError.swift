/// Why a header block cannot be decoded. Each ends the connection: the two tables no longer agree
/// (RFC 9113 §4.3).
package enum HPACKError: Error, Equatable {
    /// The block ends within a field.
    case truncated
    /// An integer of more than 28 bits (RFC 7541 §5.1 asks for a limit).
    case integerTooLarge
    /// No such entry in either table.
    case badIndex
    /// Padding that is none, or end-of-string within a string.
    case badHuffman
    /// A table size above what we allow, or not at the start of the block (RFC 7541 §4.2, §6.3).
    case badTableSize
    /// More than `HeaderList.limit` bytes of fields.
    case listTooLarge
}
