import CReveille
import Reveille
import WakeFeed

/// The app's functions, see `reveille_callbacks`. Addresses are kept as numbers: pointers are not
/// `Sendable`; that every thread may use these is what the header asks of the app.
struct AppCallbacks: Sendable {
    typealias OnMatch =
        @convention(c) (UnsafeMutableRawPointer?, UnsafePointer<reveille_match>?) -> Int32
    typealias OnWarning =
        @convention(c) (UnsafeMutableRawPointer?, UnsafePointer<reveille_warning>?) -> Void
    typealias OnStatus =
        @convention(c) (UnsafeMutableRawPointer?, UnsafePointer<reveille_status>?) -> Void
    typealias OnEnd = @convention(c) (UnsafeMutableRawPointer?, Int32) -> Void

    private let context: UInt
    private let match: UInt
    private let warning: UInt
    private let status: UInt
    private let ended: UInt

    /// - Throws: `argument` without a function for matches.
    init(_ callbacks: borrowing reveille_callbacks) throws(CallFault) {
        guard let match = unsafe callbacks.match else { throw .argument }
        self.match = unsafe UInt(bitPattern: unsafeBitCast(match, to: UnsafeRawPointer.self))
        context = unsafe UInt(bitPattern: callbacks.context)
        warning = unsafe unsafeBitCast(callbacks.warning, to: UInt.self)
        status = unsafe unsafeBitCast(callbacks.status, to: UInt.self)
        ended = unsafe unsafeBitCast(callbacks.ended, to: UInt.self)
    }

    /// Calls the app.
    /// - Returns: whether it acknowledged a match.
    func call(_ event: CallbackQueue.Event) -> Bool {
        switch event {
        case .match(let match): return call(match)
        case .warning(let warning): call(warning)
        case .status(let status): call(status)
        case .ended(let error):
            let function = unsafe unsafeBitCast(ended, to: OnEnd?.self)
            unsafe function?(pointer, error.map { $0.number } ?? 0)
        }
        return false
    }

    private var pointer: UnsafeMutableRawPointer? { unsafe .init(bitPattern: context) }

    private func call(_ match: Match) -> Bool {
        let function = unsafe unsafeBitCast(self.match, to: OnMatch?.self)
        // A zero behind the note: text can be read as such.
        let answer = unsafe match.id.text.withCString { id in
            unsafe match.secretID.withCString { secret in
                unsafe ((match.noteBytes ?? []) + [0]).withUnsafeBytes { note in
                    var values = unsafe reveille_match(
                        size: MemoryLayout<reveille_match>.size, id: id, secret: secret,
                        note: match.noteBytes == nil ? nil : note.baseAddress,
                        note_size: note.count - 1,
                        sequence: match.sequence)
                    return unsafe function?(pointer, &values)
                }
            }
        }
        return answer == Int32(REVEILLE_DELIVERED.rawValue)
    }

    private func call(_ warning: Warning) {
        let function = unsafe unsafeBitCast(self.warning, to: OnWarning?.self)
        let numbers = warning.values
        unsafe warning.code.withCString { name in
            unsafe warning.description.withCString { text in
                var values = unsafe reveille_warning(
                    size: MemoryLayout<reveille_warning>.size, code: warning.number, name: name,
                    number: numbers.number, first: numbers.first, last: numbers.last,
                    since: numbers.since, text: text)
                unsafe function?(pointer, &values)
            }
        }
    }

    private func call(_ status: ClientStatus) {
        let function = unsafe unsafeBitCast(self.status, to: OnStatus?.self)
        var values = reveille_status(status)
        unsafe function?(pointer, &values)
    }
}
