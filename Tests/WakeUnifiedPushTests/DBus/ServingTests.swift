import TestSupport
import Testing
import WakeSystem
import WakeUnifiedPush

/// What these tests serve: `Take` answers with how many bytes it got.
enum Ours {
    static let object = BusObject(
        path: "/org/example/Ours", interface: "org.example.Ours",
        methods: [.init("Take", "ay", results: "u")])

    static func take(_ name: [UInt8], _ bytes: [UInt8]) -> BusMessage {
        .call(
            name, path: object.path, interface: object.interface, member: "Take",
            [.bytes(bytes)])
    }

    /// Reads and answers until the connection ends.
    static func answer(_ connection: BusConnection) -> Task<Int, Never> {
        Task {
            var answered = 0
            for await call in connection.messages where call.kind == .call {
                guard case .bytes(let bytes)? = call.body.first else { continue }
                try? connection.reply(to: call, [.uint32(UInt32(bytes.count))])
                answered += 1
            }
            return answered
        }
    }
}

@Suite(
    "What a connection serves, over Debian's dbus-daemon",
    .enabled(if: MessageBus.isInstalled, MessageBus.missing), .timeLimit(.minutes(5)))
struct ServingTests {
    @Test(
        "what is served is answered by us, and all else by an error, in either byte order",
        .enabled(if: PythonBusPeer.isInstalled, PythonBusPeer.missing),
        arguments: ["little", "big"])
    func answers(order: String) async throws {
        let bus = try await MessageBus()
        let ours = try await bus.connect(serving: [Ours.object])
        let answering = Ours.answer(ours)
        let name = String(decoding: ours.uniqueName, as: UTF8.self)
        let peer = try PythonBusPeer.start(BusPeerScript.asking, [name, order], bus: bus)
        _ = try await peer.line(containing: "done")
        let lines = peer.output.split(separator: "\n").map(String.init)
        #expect(
            lines.dropLast(2) == [
                "Take 3", "Take InvalidArgs", "Take InvalidArgs", "Give UnknownMethod",
                "Take UnknownInterface", "Take UnknownObject", "Ping nothing",
                "GetMachineId 0123456789abcdef0123456789abcdef",
            ])
        #expect(lines.dropLast().last?.contains("<method name=\"Take\">") == true)
        ours.close()
        // One of them was ours to answer: the others nobody saw.
        #expect(await answering.value == 1)
    }

    @Test(
        "messages of no byte up to our limit are taken, larger ones refused, and the next is taken",
        .enabled(if: PythonBusPeer.isInstalled, PythonBusPeer.missing))
    func sizes() async throws {
        let bus = try await MessageBus()
        let ours = try await bus.connect(serving: [Ours.object])
        let answering = Ours.answer(ours)
        let name = String(decoding: ours.uniqueName, as: UTF8.self)
        let limit = BusLimits.messageBytes
        for size in [0, 1, 4096, limit - 1024, limit, 3 * limit, 40 * limit, 0] {
            let peer = try PythonBusPeer.start(
                BusPeerScript.calling, [name, "2", String(size)], bus: bus)
            let line = try await peer.line(containing: "answers")
            let answer =
                size < limit
                ? "answers [('(\(size),)', 2)]"
                : "answers [('org.freedesktop.DBus.Error.LimitsExceeded', 2)]"
            #expect(line == answer)
        }
        #expect(ours.ending == nil)
        ours.close()
        #expect(await answering.value == 10)
    }

    @Test("a call beyond our limit is not sent, and the connection goes on")
    func tooLargeToSend() async throws {
        let bus = try await MessageBus()
        let ours = try await bus.connect(serving: [Ours.object])
        let answering = Ours.answer(ours)
        let large = [UInt8](repeating: 0, count: BusLimits.messageBytes)
        await #expect(throws: BusError.tooLarge) {
            try await ours.call(Ours.take(ours.uniqueName, large))
        }
        #expect(try await ours.call(Ours.take(ours.uniqueName, [])).body == [.uint32(0)])
        answering.cancel()
    }

    @Test("thousands of calls, one by one and at once, have each its own answer")
    func thousands() async throws {
        let bus = try await MessageBus()
        let theirs = try await bus.connect(serving: [Ours.object])
        let answering = Ours.answer(theirs)
        let ours = try await bus.connect()
        for size in 0..<2000 {
            let answer = try await ours.call(
                Ours.take(theirs.uniqueName, Array(repeating: 1, count: size)))
            #expect(answer.body == [.uint32(UInt32(size))])
        }
        let right = try await withThrowingTaskGroup(of: Bool.self) { group in
            for size in 0..<200 {
                group.addTask {
                    var right = true
                    for turn in 0..<20 {
                        let bytes = [UInt8](repeating: 1, count: size * 20 + turn)
                        let answer = try await ours.call(Ours.take(theirs.uniqueName, bytes))
                        right = right && answer.body == [.uint32(UInt32(bytes.count))]
                    }
                    return right
                }
            }
            return try await group.reduce(into: 0) { $0 += $1 ? 1 : 0 }
        }
        #expect(right == 200)
        theirs.close()
        #expect(await answering.value == 6000)
    }

    @Test("calls that nobody reads are held up to a bound, and refused beyond it")
    func unreadCalls() async throws {
        let bus = try await MessageBus()
        let theirs = try await bus.connect(serving: [Ours.object])
        let ours = try await bus.connect()
        let refused = Observed(0)
        let outcomes = await withTaskGroup(of: BusError?.self) { group in
            for _ in 0..<(BusLimits.waitingMessages + 44) {
                group.addTask {
                    do throws(BusError) {
                        _ = try await ours.call(
                            Ours.take(theirs.uniqueName, []), timeout: .seconds(600))
                        return nil
                    } catch {
                        refused.update { $0 += error == .failed(.limitsExceeded) ? 1 : 0 }
                        return error
                    }
                }
            }
            // One place is taken by the bus's NameAcquired, which comes before every call. Closed
            // any earlier, the last call would find nobody and not be refused.
            _ = try? await refused.first { $0 >= 45 ? true : nil }
            theirs.close()
            return await group.reduce(into: []) { $0.append($1) }
        }
        let limit = outcomes.count { $0 == .failed(.limitsExceeded) }
        let unanswered = outcomes.count { $0 == .failed(.noReply) }
        #expect(limit == 45 && unanswered == BusLimits.waitingMessages - 1)
    }

    @Test("the bus's own signals end a connection that does not read them; others' are lost")
    func unreadSignals() async throws {
        let bus = try await MessageBus()
        let idle = try await bus.connect()
        try await idle.addMatch("type='signal'")
        let ours = try await bus.connect()
        var signal = BusMessage.signal(path: "/a", interface: "org.example.Ours", member: "Tick")
        signal.destination = idle.uniqueName
        for _ in 0..<(BusLimits.waitingMessages * 2) { try ours.send(signal) }
        // Its answer comes after all of them.
        let ping = BusMessage.call(
            idle.uniqueName, path: "/", interface: "org.freedesktop.DBus.Peer", member: "Ping")
        _ = try await ours.call(ping)
        #expect(idle.ending == nil)
        let release = BusMessage.call(
            "org.freedesktop.DBus", path: "/org/freedesktop/DBus",
            interface: "org.freedesktop.DBus", member: "ReleaseName", [.string("org.example.N")])
        _ = try await ours.requestName("org.example.N")
        _ = try await ours.call(release)
        while idle.ending == nil {
            try Task.checkCancellation()
            do throws(BusError) {
                _ = try await ours.call(ping)
            } catch {
                break
            }
        }
        var read = 0
        for await _ in idle.messages { read += 1 }
        #expect(idle.ending == .overflow)
        #expect(read == BusLimits.waitingMessages)
        await #expect(throws: BusError.closed) { try await idle.nameOwner("org.example.N") }
    }
}
