import CLinux
import Glibc
import Synchronization
import WakeModel
import WakePush

/// `bench push-sender`: the engine alone in a process, so that its CPU time and memory can be told
/// from the far end's.
enum PushSender {
    private static let help = """
        usage: bench push-sender --port N --authority FILE --key FILE --token-file FILE
            [--pushes 1000000]

        Sends that many pushes to distinct tokens on localhost, and prints one line: pushes that
        were accepted and not, seconds and CPU seconds from the engine's start to the last outcome,
        and the most that was resident, bytes.
        """

    private static let streams = 1000

    static func run(_ arguments: [String]) -> Int32 {
        let options = Options(
            arguments, known: ["port", "authority", "key", "token-file", "pushes"])
        guard options.unknown == nil, let configuration = configuration(options) else {
            print(help)
            return 2
        }
        let count = options.number("pushes", default: 1_000_000)
        let batch = 2000
        // Enough for every stream, and as much again on its way in.
        let tally = PushTally(count: count, batch: batch, ahead: 2 * streams + 4 * batch)
        let watch = Stopwatch()
        do throws(PushEngineError) {
            let engine = try PushEngine(configuration) { tally.take($0) }
            tally.send(with: engine)
            tally.waitForEnd()
            let (seconds, processor) = (watch.seconds, watch.processorSeconds)
            let result = tally.result
            engine.cancel()
            print(
                "sent \(result.accepted) \(result.others) \(seconds) \(processor) "
                    + "\(ProcessStatus()?.peak ?? 0)")
            fflush(nil)
            return result.others == 0 ? 0 : 1
        } catch {
            print("failed: \(error)")
            return 1
        }
    }

    private static func configuration(_ options: Options) -> EngineConfiguration? {
        guard let port = options["port"].flatMap(UInt16.init), let key = options["key"],
            let file = options["token-file"], var endpoint = GatewayEndpoint.apns(.apns)
        else { return nil }
        endpoint.host = "localhost"
        endpoint.port = port
        endpoint.authorityFile = options["authority"]
        guard let shape = PushWorkshop.shape(endpoint, signingKey: key, keptIn: file) else {
            return nil
        }
        var configuration = endpoint.engine(shape)
        configuration.connections = 1
        configuration.limits.streams = streams
        return configuration
    }
}

/// Hands batches in as outcomes come out, on the engine's thread.
final class PushTally: Sendable {
    struct Result {
        var accepted = 0
        /// Every other outcome: there must be none.
        var others = 0
    }

    private struct State {
        var engine: PushEngine?
        var result = Result()
        var submitted = 0
    }

    private let state = Mutex(State())
    private let count: Int
    private let batch: Int
    private let ahead: Int
    private let end = linux_eventfd_create()

    /// - Parameter ahead: pushes that wait for their outcome at most.
    init(count: Int, batch: Int, ahead: Int) {
        self.count = count
        self.batch = batch
        self.ahead = ahead
    }

    deinit { close(end) }

    var result: Result { state.withLock { $0.result } }

    func send(with engine: PushEngine) {
        state.withLock { state in
            state.engine = engine
            submit(&state)
        }
    }

    func take(_ outcomes: PushOutcomes) {
        var accepted = 0
        for result in outcomes.results {
            if case .answered(status: 200, _, _) = result.outcome { accepted += 1 }
        }
        state.withLock { state in
            state.result.accepted += accepted
            state.result.others += outcomes.results.count - accepted
            submit(&state)
            guard state.result.accepted + state.result.others == count else { return }
            state.engine = nil
            linux_eventfd_signal(end)
        }
    }

    func waitForEnd() {
        var word: UInt64 = 0
        while true {
            var waiting = pollfd(fd: end, events: Int16(POLLIN), revents: 0)
            _ = unsafe poll(&waiting, 1, -1)
            if unsafe read(end, &word, 8) == 8 { return }
        }
    }

    private func submit(_ state: inout State) {
        let settled = state.result.accepted + state.result.others
        while state.submitted < count, state.submitted - settled + batch <= ahead {
            let size = min(batch, count - state.submitted)
            let number = state.submitted / batch
            guard state.engine?.submit(Self.batch(number, count: size, of: batch)) == true else {
                return
            }
            state.submitted += size
        }
    }

    /// Tokens of 32 bytes in hexadecimal digits, distinct: the last 8 bytes are the push's number
    /// times an odd one.
    private static func batch(_ number: Int, count: Int, of size: Int) -> PushBatch {
        var batch = PushBatch(capacity: count, tokenBytes: 64)
        var token = [UInt8](repeating: UInt8(ascii: "a"), count: 64)
        let first = number * size
        for push in first..<first + count {
            var word = UInt64(push) &* 0x9E37_79B9_7F4A_7C15
            for place in 48..<64 {
                let digit = UInt8(truncatingIfNeeded: word & 0xF)
                token[place] = digit + (digit < 10 ? 0x30 : 0x57)
                word >>= 4
            }
            batch.append(token.span, reference: UInt64(push))
        }
        return batch
    }
}
