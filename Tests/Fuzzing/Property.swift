/// What must hold for any bytes at all. libFuzzer (`Tests/Fuzz`) and the tests check the same.
enum Property: String, CaseIterable, Sendable {
    case addresses, batches, bus, configuration, connections, frames, headers, heads, json, keys
    case messages, pages, pushes, requests, trees

    /// - Returns: what does not hold, or nil.
    func violation(_ input: [UInt8]) -> String? {
        do throws(Violation) {
            _ = try accepts(input)
            return nil
        } catch { return error.text }
    }

    /// - Returns: whether the program would go on with these bytes.
    /// - Throws: what does not hold.
    func accepts(_ input: [UInt8]) throws(Violation) -> Bool {
        switch self {
        case .addresses: try AddressProperty.check(input)
        case .batches: try BatchProperty.check(input)
        case .bus: try BusProperty.check(input)
        case .configuration: try ConfigurationProperty.check(input)
        case .connections: try ConnectionProperty.check(input)
        case .frames: try FrameProperty.check(input)
        case .headers: try HeaderProperty.check(input)
        case .heads: try HeadProperty.check(input)
        case .json: try JSONProperty.check(input)
        case .keys: try KeyProperty.check(input)
        case .messages: try MessageProperty.check(input)
        case .pages: try PageProperty.check(input)
        case .pushes: try PushProperty.check(input)
        case .requests: try RequestProperty.check(input)
        case .trees: try TreeProperty.check(input)
        }
    }
}

struct Violation: Error {
    let text: String

    init(_ text: String) { self.text = text }
}

func require(_ holds: Bool, _ text: @autoclosure () -> String) throws(Violation) {
    if !holds { throw Violation(text()) }
}
