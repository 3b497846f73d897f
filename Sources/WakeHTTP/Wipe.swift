import CLinux

/// Overwrites all of `bytes` with zeros; the count stays.
func wipe(_ bytes: inout [UInt8]) {
    wipe(&bytes, 0..<bytes.count)
}

/// Overwrites `range` of `bytes` with zeros.
func wipe(_ bytes: inout [UInt8], _ range: Range<Int>) {
    precondition(range.lowerBound >= 0 && range.upperBound <= bytes.count)
    guard !range.isEmpty else { return }
    unsafe bytes.withUnsafeMutableBytes { buffer in
        guard let base = buffer.baseAddress else { return }
        unsafe linux_wipe(base + range.lowerBound, range.count)
    }
}

/// Appends to a buffer whose bytes must not be left behind when it moves to a larger place.
func appendWiping(_ more: Span<UInt8>, to bytes: inout [UInt8]) {
    let needed = bytes.count + more.count
    if needed > bytes.capacity {
        var larger: [UInt8] = []
        larger.reserveCapacity(max(needed, bytes.count * 2))
        larger.append(span: bytes.span)
        wipe(&bytes)
        bytes = larger
    }
    bytes.append(span: more)
}
