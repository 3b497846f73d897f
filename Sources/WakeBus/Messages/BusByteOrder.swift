/// The order of a message's bytes, chosen by who sends it; everybody must read both.
package enum BusByteOrder: UInt8, Sendable {
    case little = 0x6C
    case big = 0x42
}
