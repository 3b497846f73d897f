import WakeBytes

/// A point of edwards25519 (RFC 8032 §5.1): x = X/Z, y = Y/Z, xy = T/Z. The formulas are those of
/// Hisil, Wong, Carter and Dawson 2008, which hold for all points.
struct EdwardsPoint: Sendable {
    private let x, y, z, t: FieldElement

    private static let d = FieldElement(
        0x3_4DCA_1359_78A3, 0x1_A828_3B15_6EBD, 0x5_E7A2_6001_C029, 0x7_39C6_63A0_3CBB,
        0x5_2036_CEE2_B6FF)
    private static let twiceD = d + d
    /// The square root of −1.
    private static let root = FieldElement(
        0x6_1B27_4A0E_A0B0, 0x0_D5A5_FC8F_189D, 0x7_EF5E_9CBD_0C60, 0x7_8595_A680_4C9E,
        0x2_B832_4804_FC1D)

    static let identity = EdwardsPoint(x: .zero, y: .one)
    /// B of RFC 8032 §5.1.
    static let base = EdwardsPoint(
        x: FieldElement(
            0x6_2D60_8F25_D51A, 0x4_12A4_B4F6_592A, 0x7_5B71_71A4_B31D, 0x1_FF60_5271_18FE,
            0x2_1693_6D3C_D6E5),
        y: FieldElement(
            0x6_6666_6666_6658, 0x4_CCCC_CCCC_CCCC, 0x1_9999_9999_9999, 0x3_3333_3333_3333,
            0x6_6666_6666_6666))

    private init(x: FieldElement, y: FieldElement) { self.init(x, y, .one, x * y) }

    private init(_ x: FieldElement, _ y: FieldElement, _ z: FieldElement, _ t: FieldElement) {
        (self.x, self.y, self.z, self.t) = (x, y, z, t)
    }

    /// - Parameter bytes: 32, of a number below 2^255 − 19 and the sign; nil for what is no point.
    init?(_ bytes: Span<UInt8>) {
        let y = FieldElement(bytes)
        // RFC 8032 §5.1.3: only one of the two ways to write a number counts.
        var canonical = y.bytes
        canonical[31] |= bytes[31] & 0x80
        guard bytes.equals(canonical) else { return nil }
        let square = y.squared
        let (u, v) = (square - .one, square * Self.d + .one)
        let cube = v.squared * v
        var x = (cube.squared * v * u).rootPower * cube * u
        let check = x.squared * v
        if !(check - u).isZero {
            guard (check + u).isZero else { return nil }
            x = x * Self.root
        }
        self.init(x: x.isNegative == (bytes[31] & 0x80 != 0) ? x : -x, y: y)
    }

    /// 32 bytes.
    var bytes: [UInt8] {
        let inverse = z.inverse
        var bytes = (y * inverse).bytes
        if (x * inverse).isNegative { bytes[31] |= 0x80 }
        return bytes
    }

    var isIdentity: Bool { x.isZero && (y - z).isZero }
    /// Whether its order is 1, 2, 4 or 8.
    var isOfSmallOrder: Bool { doubled.doubled.doubled.isIdentity }

    static prefix func - (point: EdwardsPoint) -> EdwardsPoint {
        EdwardsPoint(-point.x, point.y, point.z, -point.t)
    }
}

extension EdwardsPoint {
    var doubled: EdwardsPoint { twice.point }

    private var twice: Quotients { Quotients(doubling: x, y, z) }

    /// The sum of two multiples of points, by Straus 1964; in a time that depends on all of them.
    static func sum(
        _ first: EdwardsScalar, _ point: EdwardsPoint, _ second: EdwardsScalar = .zero
    ) -> EdwardsPoint {
        sum(first.digits, OddMultiples(of: point), second.digits, OddMultiples.ofBase)
    }

    private static func sum(
        _ first: [Int8], _ multiples: OddMultiples, _ second: [Int8], _ others: OddMultiples
    ) -> EdwardsPoint {
        let top = first.indices.last { first[$0] != 0 || second[$0] != 0 }
        guard let top else { return identity }
        var sum = Quotients(doubling: identity.x, identity.y, identity.z)
        for place in stride(from: top, through: 0, by: -1) {
            if place < top { sum = sum.doubled }
            if first[place] != 0 { sum = multiples.add(first[place], to: sum.point) }
            if second[place] != 0 { sum = others.add(second[place], to: sum.point) }
        }
        return sum.point
    }

    /// A point to be added often.
    fileprivate struct Addend: Sendable {
        let sum, difference, twiceZ, product: FieldElement

        init(_ point: EdwardsPoint) {
            sum = point.y + point.x
            difference = point.y - point.x
            twiceZ = point.z + point.z
            product = point.t * twiceD
        }
    }

    fileprivate func adding(_ addend: Addend) -> Quotients {
        let low = (y - x) * addend.difference
        let high = (y + x) * addend.sum
        let product = t * addend.product
        let twice = z * addend.twiceZ
        return Quotients(
            x: high - low, over: twice - product, y: high + low, over: twice + product)
    }

    fileprivate func subtracting(_ addend: Addend) -> Quotients {
        let low = (y - x) * addend.sum
        let high = (y + x) * addend.difference
        let product = t * addend.product
        let twice = z * addend.twiceZ
        return Quotients(
            x: high - low, over: twice + product, y: high + low, over: twice - product)
    }

    /// A point as two fractions, as the formulas give it: to double it again takes no T.
    fileprivate struct Quotients {
        private let x, underX, y, underY: FieldElement

        init(
            x: FieldElement, over underX: FieldElement, y: FieldElement, over underY: FieldElement
        ) {
            (self.x, self.underX, self.y, self.underY) = (x, underX, y, underY)
        }

        init(doubling x: FieldElement, _ y: FieldElement, _ z: FieldElement) {
            let (xx, yy, zz) = (x.squared, y.squared, z.squared)
            let (sum, difference) = (yy + xx, yy - xx)
            self.init(
                x: (x + y).squared - sum, over: zz + zz - difference, y: sum, over: difference)
        }

        var doubled: Quotients { Quotients(doubling: x * underX, y * underY, underX * underY) }

        var point: EdwardsPoint {
            EdwardsPoint(x * underX, y * underY, underX * underY, x * y)
        }
    }

    /// A point, and 3, 5 … 15 times the point.
    private struct OddMultiples: Sendable {
        private let multiples: [Addend]

        static let ofBase = OddMultiples(of: base)

        init(of point: EdwardsPoint) {
            let twice = Addend(point.doubled)
            var (last, multiples) = (point, [Addend(point)])
            for _ in 0..<7 {
                last = last.adding(twice).point
                multiples.append(Addend(last))
            }
            self.multiples = multiples
        }

        /// - Parameter digit: odd, from −15 to 15.
        func add(_ digit: Int8, to point: EdwardsPoint) -> Quotients {
            let multiple = multiples[Int(digit.magnitude / 2)]
            return digit > 0 ? point.adding(multiple) : point.subtracting(multiple)
        }
    }
}
