import WakeBytes

/// A number modulo 2^255 − 19: five limbs of 51 bits. A limb may be larger for a while: the product
/// of two numbers takes limbs below 2^54 and gives limbs below 2^52, and so does a difference.
struct FieldElement: Sendable {
    private let a, b, c, d, e: UInt64

    static let zero = FieldElement(0, 0, 0, 0, 0)
    static let one = FieldElement(1, 0, 0, 0, 0)
    private static let mask: UInt64 = 1 << 51 - 1

    /// - Parameter a: the lowest limb.
    init(_ a: UInt64, _ b: UInt64, _ c: UInt64, _ d: UInt64, _ e: UInt64) {
        (self.a, self.b, self.c, self.d, self.e) = (a, b, c, d, e)
    }

    /// - Parameter bytes: 32, the lowest first; the last bit is left out.
    init(_ bytes: Span<UInt8>) {
        let (one, two): (UInt64, UInt64) = (bytes.littleEndian(at: 0), bytes.littleEndian(at: 8))
        let (three, four): (UInt64, UInt64) =
            (bytes.littleEndian(at: 16), bytes.littleEndian(at: 24))
        self.init(
            one & Self.mask, (one >> 51 | two << 13) & Self.mask,
            (two >> 38 | three << 26) & Self.mask, (three >> 25 | four << 39) & Self.mask,
            four >> 12 & Self.mask)
    }

    /// 32 bytes, the lowest first, of the number below 2^255 − 19.
    var bytes: [UInt8] {
        let whole = carried
        // With 19 more, a number that is too large reaches 2^255.
        var carry = (whole.a &+ 19) &>> 51
        for limb in [whole.b, whole.c, whole.d, whole.e] { carry = (limb &+ carry) &>> 51 }
        let a = whole.a &+ 19 &* carry
        let b = whole.b &+ a &>> 51
        let c = whole.c &+ b &>> 51
        let d = whole.d &+ c &>> 51
        let e = whole.e &+ d &>> 51
        let (m, n, o, p) = (a & Self.mask, b & Self.mask, c & Self.mask, d & Self.mask)
        var bytes: [UInt8] = []
        bytes.reserveCapacity(32)
        bytes.append(littleEndian: m | n << 51)
        bytes.append(littleEndian: n >> 13 | o << 38)
        bytes.append(littleEndian: o >> 26 | p << 25)
        bytes.append(littleEndian: p >> 39 | (e & Self.mask) << 12)
        return bytes
    }

    var isZero: Bool { bytes.span.isZero }
    /// RFC 8032 §5.1.2: whether the number below 2^255 − 19 is odd.
    var isNegative: Bool { bytes[0] & 1 == 1 }

    /// The same number with limbs of 51 bits; the lowest may have a little more.
    private var carried: FieldElement {
        let b = b &+ a &>> 51
        let c = c &+ b &>> 51
        let d = d &+ c &>> 51
        let e = e &+ d &>> 51
        let first = a & Self.mask &+ 19 &* (e &>> 51)
        return FieldElement(
            first & Self.mask, b & Self.mask &+ first &>> 51, c & Self.mask, d & Self.mask,
            e & Self.mask)
    }
}

extension FieldElement {
    @inline(__always)
    static func + (left: FieldElement, right: FieldElement) -> FieldElement {
        FieldElement(
            left.a &+ right.a, left.b &+ right.b, left.c &+ right.c, left.d &+ right.d,
            left.e &+ right.e)
    }

    @inline(__always)
    static func - (left: FieldElement, right: FieldElement) -> FieldElement {
        // Sixteen times 2^255 − 19 keeps every limb above zero.
        let (lowest, others): (UInt64, UInt64) = (0x7F_FFFF_FFFF_FED0, 0x7F_FFFF_FFFF_FFF0)
        return FieldElement(
            left.a &+ lowest &- right.a, left.b &+ others &- right.b,
            left.c &+ others &- right.c, left.d &+ others &- right.d,
            left.e &+ others &- right.e
        ).carried
    }

    static prefix func - (number: FieldElement) -> FieldElement { zero - number }

    static func * (left: FieldElement, right: FieldElement) -> FieldElement {
        // What a limb's product has beyond 2^255 counts nineteen times.
        let (b, c, d, e) = (19 &* right.b, 19 &* right.c, 19 &* right.d, 19 &* right.e)
        return reduced(
            sum(left.a, right.a, left.b, e, left.c, d, left.d, c, left.e, b),
            sum(left.a, right.b, left.b, right.a, left.c, e, left.d, d, left.e, c),
            sum(left.a, right.c, left.b, right.b, left.c, right.a, left.d, e, left.e, d),
            sum(left.a, right.d, left.b, right.c, left.c, right.b, left.d, right.a, left.e, e),
            sum(
                left.a, right.e, left.b, right.d, left.c, right.c, left.d, right.b,
                left.e, right.a))
    }

    var squared: FieldElement {
        let (twiceA, twiceB) = (2 &* a, 2 &* b)
        let (timesC, timesD, timesE) = (38 &* c, 19 &* d, 19 &* e)
        return FieldElement.reduced(
            Self.sum(a, a, twiceB, timesE, timesC, d),
            Self.sum(twiceA, b, timesC, e, timesD, d),
            Self.sum(twiceA, c, b, b, 2 &* timesE, d),
            Self.sum(twiceA, d, twiceB, c, timesE, e),
            Self.sum(twiceA, e, twiceB, d, c, c))
    }

    /// Squared so many times.
    private func squared(_ times: Int) -> FieldElement {
        (0..<times).reduce(self) { number, _ in number.squared }
    }

    /// The powers 2^250 − 1 and 11.
    private var ladder: (long: FieldElement, short: FieldElement) {
        let nine = squared(3) * self
        let eleven = nine * squared
        let five = eleven.squared * nine
        let ten = five.squared(5) * five
        let twenty = ten.squared(10) * ten
        let fifty = (twenty.squared(20) * twenty).squared(10) * ten
        let hundred = fifty.squared(50) * fifty
        return ((hundred.squared(100) * hundred).squared(50) * fifty, eleven)
    }

    /// The power 2^255 − 21, whose product with the number is 1, unless that is 0.
    var inverse: FieldElement {
        let (long, short) = ladder
        return long.squared(5) * short
    }

    /// The power 2^252 − 3, of which square roots are made.
    var rootPower: FieldElement { ladder.long.squared(2) * self }

    /// A sum of products, which has 128 bits.
    private typealias Sum = (high: UInt64, low: UInt64)

    @inline(__always)
    private static func add(_ left: UInt64, _ right: UInt64, to sum: inout Sum) {
        let product = left.multipliedFullWidth(by: right)
        let (low, carry) = sum.low.addingReportingOverflow(product.low)
        sum = (sum.high &+ product.high &+ (carry ? 1 : 0), low)
    }

    @inline(__always)
    private static func sum(
        _ a: UInt64, _ b: UInt64, _ c: UInt64, _ d: UInt64, _ e: UInt64, _ f: UInt64
    ) -> Sum {
        var total: Sum = a.multipliedFullWidth(by: b)
        add(c, d, to: &total)
        add(e, f, to: &total)
        return total
    }

    @inline(__always)
    private static func sum(
        _ a: UInt64, _ b: UInt64, _ c: UInt64, _ d: UInt64, _ e: UInt64, _ f: UInt64,
        _ g: UInt64, _ h: UInt64, _ i: UInt64, _ j: UInt64
    ) -> Sum {
        var total = sum(a, b, c, d, e, f)
        add(g, h, to: &total)
        add(i, j, to: &total)
        return total
    }

    /// Limbs of 51 bits from sums below 2^115; the second may have a little more.
    @inline(__always)
    private static func reduced(_ a: Sum, _ b: Sum, _ c: Sum, _ d: Sum, _ e: Sum) -> FieldElement {
        let b = adding(carry(a), to: b)
        let c = adding(carry(b), to: c)
        let d = adding(carry(c), to: d)
        let e = adding(carry(d), to: e)
        let first = a.low & mask &+ 19 &* carry(e)
        return FieldElement(
            first & mask, b.low & mask &+ first &>> 51, c.low & mask, d.low & mask, e.low & mask)
    }

    /// What goes to the next limb: less than 2^64.
    @inline(__always)
    private static func carry(_ sum: Sum) -> UInt64 { sum.high &<< 13 | sum.low &>> 51 }

    @inline(__always)
    private static func adding(_ carry: UInt64, to sum: Sum) -> Sum {
        let (low, isOver) = sum.low.addingReportingOverflow(carry)
        return (sum.high &+ (isOver ? 1 : 0), low)
    }
}
