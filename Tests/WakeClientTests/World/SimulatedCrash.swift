import Glibc
import ReveilleTesting
import Synchronization
import WakeSystem

@testable import Reveille

/// A process that dies at a write, as by kill -9: what its files held at that moment is what the
/// next process finds, and nothing that it still does matters.
final class SimulatedCrash: Sendable {
    /// From one write that is tried to the next: each is a page or less.
    static let stride = LongForm.isAsked ? 1 : 7

    private struct State {
        var passed = 0
        var fatal: Int
        var hasCrashed = false
        var files: [String: [UInt8]] = [:]
    }

    private let state: Mutex<State>
    private let world: World

    /// - Parameter fatal: how many writes happen before the crash.
    init(of world: World, at fatal: Int) {
        self.world = world
        state = Mutex(State(fatal: fatal))
        world.failWrites { [self] in reach() }
    }

    /// Puts the files back as they were at the moment of crash, and lets the next process live.
    func restore() throws {
        world.failWrites(nil)
        guard hasCrashed else { return }
        for path in try world.stateFiles().keys { try Files.remove(path) }
        for (path, bytes) in state.withLock({ $0.files }) {
            try Files.create(path, with: bytes.span)
        }
    }

    /// At the next write, whichever it is.
    func crashNow() { state.withLock { $0.fatal = 0 } }

    var hasCrashed: Bool { state.withLock { $0.hasCrashed } }

    func reach() -> Int32 {
        state.withLock { state in
            state.passed += 1
            guard state.passed > state.fatal else { return 0 }
            if !state.hasCrashed { state.files = (try? world.stateFiles()) ?? [:] }
            state.hasCrashed = true
            return EIO
        }
    }
}
