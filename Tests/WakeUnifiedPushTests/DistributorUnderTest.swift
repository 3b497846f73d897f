import Foundation
import TestSupport
import WakeUnifiedPush

/// A distributor in Python on a bus of a test's own, told what to do over the bus.
final class DistributorUnderTest: Sendable {
    static let name = "org.unifiedpush.Distributor.python"

    private let bus: MessageBus
    private let order: String
    private let file: String
    private let program: RunningProgram
    private let control: BusConnection
    /// Its unique name.
    private let address: [UInt8]

    /// - Parameters:
    ///   - word: the last of its name.
    ///   - order: of its bytes, "little" or "big".
    ///   - file: where its registrations are; those of an earlier one are known.
    init(
        on bus: MessageBus, _ word: String = "python", order: String = "little",
        file: String? = nil
    ) async throws {
        self.bus = bus
        self.order = order
        self.file = file ?? bus.directory.path + "/registrations-\(word)"
        program = try PythonBusPeer.start(
            DistributorScript.text, [word, order, self.file], bus: bus)
        let line = try await program.line(containing: "ready ")
        address = Array((line.split(separator: " ").last ?? "").utf8)
        control = try await BusConnection.session(
            environment: BusEnvironment(
                sessionAddress: Array(bus.address.utf8), runtimeDirectory: nil))
    }

    /// It dies, at once, and its name is free.
    func kill() async {
        program.signal(SIGKILL)
        _ = await program.exit()
    }

    /// Waits until a client has called `Register` so often.
    func registrations(atLeast count: Int) async throws {
        while try await calls() < count { try Task.checkCancellation() }
    }

    /// How often `Register` was called.
    func calls() async throws -> Int {
        try await tell("{'do': 'calls'}").components(separatedBy: "'token'").count - 1
    }

    /// What `Register` was called with.
    func arguments() async throws -> String { try await tell("{'do': 'calls'}") }

    /// - Returns: how each call was answered, as Python writes it.
    @discardableResult
    func tell(_ order: String) async throws -> String {
        let call = BusMessage.call(
            address, path: "/control", interface: "org.example.Control", member: "Do",
            [.string(order)])
        let reply = try await control.call(call, timeout: .seconds(600))
        guard case .string(let text)? = reply.body.first else { throw TestFailure("no answer") }
        return String(decoding: text, as: UTF8.self)
    }

    /// Waits until it has said this.
    func said(_ text: String) async throws { _ = try await program.line(containing: text) }
}
