import TestSupport
import WakeModel

/// Looks for many byte strings at once in whole files: any 8 bytes of one, taken at chosen places,
/// are found wherever they lie. By chance 8 bytes meet 8 others once in 2^64.
struct Remains {
    /// Open addressing; 0 is an empty place.
    private var windows: [UInt64]
    private var owners: [Int32]
    private var count = 0

    init(capacity: Int = 1 << 16) {
        windows = [UInt64](repeating: 0, count: capacity)
        owners = [Int32](repeating: 0, count: capacity)
    }

    /// - Parameters:
    ///   - owner: what `search` says when any of it is found.
    ///   - stride: bytes between the places; a piece of `stride + 7` bytes cannot be missed.
    mutating func add(_ bytes: [UInt8], owner: Int32, stride: Int = 8) {
        for start in Swift.stride(from: 0, through: bytes.count - 8, by: stride) {
            var window: UInt64 = 0
            for index in start..<start + 8 { window = window << 8 | UInt64(bytes[index]) }
            if window != 0 { insert(window, owner) }
        }
    }

    /// A secret as it is, as hexadecimal of either case and as base64url.
    mutating func add(secret: [UInt8], owner: Int32) {
        add(secret, owner: owner)
        let hex = Hex.encode(secret.span)
        let upper = hex.map { $0 >= UInt8(ascii: "a") ? $0 - 32 : $0 }
        for form in [hex, upper, Base64URL.encode(secret.span)] {
            add(form, owner: owner, stride: 16)
        }
    }

    /// The owners of whatever is found.
    func search(_ bytes: [UInt8]) -> Set<Int32> {
        var found: Set<Int32> = []
        var window: UInt64 = 0
        let mask = windows.count - 1
        for byte in bytes {
            window = window << 8 | UInt64(byte)
            guard window != 0 else { continue }
            var place = Self.place(window) & mask
            while windows[place] != 0 {
                if windows[place] == window {
                    found.insert(owners[place])
                    break
                }
                place = (place + 1) & mask
            }
        }
        return found
    }

    private mutating func insert(_ window: UInt64, _ owner: Int32) {
        if 2 * count >= windows.count { grow() }
        let mask = windows.count - 1
        var place = Self.place(window) & mask
        while windows[place] != 0 {
            // Whoever came first; the same bytes with two owners would be a mistake of the test.
            if windows[place] == window { return }
            place = (place + 1) & mask
        }
        windows[place] = window
        owners[place] = owner
        count += 1
    }

    private mutating func grow() {
        var larger = Remains(capacity: 4 * windows.count)
        for (window, owner) in zip(windows, owners) where window != 0 {
            larger.insert(window, owner)
        }
        self = larger
    }

    private static func place(_ window: UInt64) -> Int {
        Int(truncatingIfNeeded: (window &* 0x9E37_79B9_7F4A_7C15) >> 20)
    }
}
