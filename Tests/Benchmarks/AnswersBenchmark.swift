import Synchronization
import TestSupport
import WakeModel
import WakeStore
import WakeSystem

/// What the time of an answer tells of what was found: alone, and while somebody else loads the
/// store with registrations; on the grid of answers and, as a control, without it.
enum AnswersBenchmark {
    private static let help = """
        usage: bench answers [--pairs 2000] [--load 24] [--tick MICROSECONDS] [--directory DIR]

        Times from asking the store to the moment the answer leaves, and what they tell: the area
        under the curve (Mann and Whitney), 0.5 for nothing. --pairs: of each comparison; --load:
        how many others register new tokens, each again as soon as it was answered.
        """

    static func run(_ arguments: [String]) async -> Int32 {
        let options = Options(arguments, known: ["pairs", "load", "tick", "directory"])
        guard options.unknown == nil else {
            print(help)
            return options.unknown == "--help" ? 0 : 2
        }
        let tick = options.number("tick", default: Limits.answerTickMicroseconds)
        do {
            var onGrid: [Double] = []
            var without: [Double] = []
            for load in [0, options.number("load", default: 24)] {
                without += try await measure(options, tick: .zero, load: load)
                onGrid += try await measure(options, tick: .microseconds(tick), load: load)
            }
            let (most, control) = (onGrid.max() ?? 1, without.max() ?? 0)
            print("most on the grid \(thousandths(most)), without \(thousandths(control))")
            // A control that sees nothing would not see a leak either.
            return most < 0.55 && control >= 0.6 ? 0 : 1
        } catch {
            print("bench: \(error)")
            return 1
        }
    }

    private static func measure(
        _ options: Options, tick: Duration, load: Int
    ) async throws -> [Double] {
        let pairs = options.number("pairs", default: 2000)
        let place = StorePlace(in: options["directory"] ?? "/var/tmp")
        var configuration = StoreConfiguration(dataDirectory: place.data, keyFile: place.keys)
        configuration.answerTick = tick
        try Store.create(configuration)
        let store = try Store(opening: configuration)
        let moving = (0..<pairs).map { _ in InstanceToken.random }
        let renewing = (0..<pairs).map { _ in InstanceToken.random }
        await fill(store, moving)
        _ = await store.rotate()
        await fill(store, renewing)
        let crowd = Crowd(store)
        crowd.start(load)
        let times = try await BlockingExecutor.run {
            Subjects(store: store).times(moving, renewing)
        }
        crowd.stop()
        await store.close()
        print("\(tick == .zero ? "no grid" : "grid"), \(load) others")
        return times.compare()
    }

    private static func fill(_ store: Store, _ tokens: [InstanceToken]) async {
        await withTaskGroup(of: Void.self) { group in
            for token in tokens {
                group.addTask {
                    await withCheckedContinuation { continuation in
                        store.submit(.register(token, .random)) { _ in continuation.resume() }
                    }
                }
            }
        }
    }
}

/// Asks for one thing at a time, and takes the time of the answer.
private final class Subjects: Sendable {
    private let store: Store
    private let left = Semaphore()
    private let time = Atomic<UInt64>(0)

    init(store: Store) { self.store = store }

    /// Blocks. Every comparison in an order drawn anew, so that nothing but what is found differs.
    func times(_ moving: [InstanceToken], _ renewing: [InstanceToken]) -> Times {
        var times = Times()
        let new = moving.indices.map { _ in InstanceToken.random }
        var questions: [(String, StoreOperation)] = []
        for (index, token) in new.enumerated() {
            questions.append(("first", .register(token, .random)))
            questions.append(("renewed", .register(renewing[index], .random)))
            questions.append(("moved", .register(moving[index], .random)))
        }
        ask(questions, &times)
        questions = new.map { ("read", .read($0)) }
        questions += new.map { _ in ("nothing", .read(.random)) }
        ask(questions, &times)
        questions = new.map { ("deleted", .delete($0)) }
        questions += new.map { _ in ("unknown", .delete(.random)) }
        ask(questions, &times)
        return times
    }

    private func ask(_ questions: [(String, StoreOperation)], _ times: inout Times) {
        for (name, operation) in questions.shuffled() {
            // People do not come in step with the answers.
            let pause = UInt64.random(in: 0..<2_000_000)
            SystemClock.sleep(until: SystemClock.monotonicNanoseconds + pause)
            let start = Stopwatch.monotonic()
            store.perform(
                operation,
                preparing: { [self] answer in
                    var body: [UInt8] = []
                    if case .stored(let stored) = answer {
                        body = RegistrationResponse(stored: stored, policyHash: "").encode()
                    }
                    return { [self, body] in
                        withExtendedLifetime(body) {
                            time.store(Stopwatch.monotonic(), ordering: .releasing)
                            left.post()
                        }
                    }
                })
            left.wait()
            times.add(time.load(ordering: .acquiring) - start, to: name)
        }
    }
}

private struct Times {
    private var byName: [String: [UInt64]] = [:]

    mutating func add(_ time: UInt64, to name: String) { byName[name, default: []].append(time) }

    /// Prints every comparison; returns how far each is from 0.5, above it.
    func compare() -> [Double] {
        let pairs = [
            ("first", "renewed"), ("first", "moved"), ("renewed", "moved"), ("nothing", "read"),
            ("unknown", "deleted"),
        ]
        return pairs.map { one, other in
            let (some, others) = (byName[one] ?? [], byName[other] ?? [])
            let area = Self.area(some, others)
            print(
                "  \(one) \(microseconds(median(some))) us, "
                    + "\(other) \(microseconds(median(others))) us: \(thousandths(area))")
            return max(area, 1 - area)
        }
    }

    private func median(_ times: [UInt64]) -> UInt64 {
        times.isEmpty ? 0 : times.sorted()[times.count / 2]
    }

    /// The chance that one of `others` is later than one of `some`; a tie counts half.
    private static func area(_ some: [UInt64], _ others: [UInt64]) -> Double {
        let all = (some.map { ($0, false) } + others.map { ($0, true) }).sorted { $0.0 < $1.0 }
        var wins = 0.0
        var earlier = 0
        var index = 0
        while index < all.count {
            var end = index
            var (ties, later) = (0, 0)
            while end < all.count, all[end].0 == all[index].0 {
                if all[end].1 { later += 1 } else { ties += 1 }
                end += 1
            }
            wins += Double(later) * (Double(earlier) + Double(ties) / 2)
            earlier += ties
            index = end
        }
        return wins / Double(max(1, some.count * others.count))
    }
}

/// Others, who register new tokens, each again as soon as it was answered.
private final class Crowd: Sendable {
    private let store: Store
    private let isOver = Atomic<Bool>(false)

    init(_ store: Store) { self.store = store }

    func start(_ count: Int) { for _ in 0..<count { register() } }
    func stop() { isOver.store(true, ordering: .relaxed) }

    private func register() {
        store.submit(.register(.random, .random)) { [self] _ in
            if !isOver.load(ordering: .relaxed) { register() }
        }
    }
}

private func microseconds(_ nanoseconds: UInt64) -> String { "\(nanoseconds / 1000)" }

private func thousandths(_ value: Double) -> String { "\((value * 1000).rounded() / 1000)" }

extension InstanceToken {
    static var random: InstanceToken {
        guard let token = InstanceToken(Sodium.random(byteCount)) else {
            preconditionFailure("random bytes look random")
        }
        return token
    }
}

extension PushToken {
    fileprivate static var random: PushToken {
        guard let token = try? PushToken(service: .apns, bytes: Sodium.random(32)) else {
            preconditionFailure("32 bytes are an APNs token")
        }
        return token
    }
}
