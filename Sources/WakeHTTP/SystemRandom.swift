import CLinux

/// 64 bits of the kernel's random generator.
func systemRandom() -> UInt64 {
    var value: UInt64 = 0
    let result = unsafe linux_random(&value, MemoryLayout<UInt64>.size)
    precondition(result == 0, "the kernel gives no random bytes")
    return value
}
