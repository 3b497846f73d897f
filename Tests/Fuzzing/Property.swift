/// What must hold for any bytes at all.
enum Property: String, CaseIterable {
    case frames
    case headers
    case connection
    case pages
    case bus

    /// - Returns: what does not hold, or nil.
    func violation(_ input: [UInt8]) -> String? {
        do {
            switch self {
            case .frames: try FrameProperty.check(input)
            case .headers: try HeaderProperty.check(input)
            case .connection: try ConnectionProperty.check(input)
            case .pages: try PageProperty.check(input)
            case .bus: try BusProperty.check(input)
            }
            return nil
        } catch {
            return error.text
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
