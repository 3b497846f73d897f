private import Foundation
private import Glibc
private import Synchronization
private import TestSupport
private import WakeModel
private import WakeSystem

/// New registrations at the service's speed over three rotations, and what others see of it: users
/// who were there before, people who delete, and newcomers with the client.
enum FloodBenchmark {
    private static let help = """
        usage: bench flood [--operations 1000000] [--connections 64] [--megabytes 64]
                           [--users 50] [--newcomers 20]

        --megabytes: the room of the service; --newcomers: seconds between two of them. The
        service's files are in $TMPDIR. Ends with 0 when all users are there at the end, every
        newcomer was in within a minute, the database kept to its room and 99 of 100 deletes
        were answered in 50 ms, or in the time of two flushes of the same disk.
        """

    static func run(_ arguments: [String]) async -> Int32 {
        let options = Options(
            arguments, known: ["operations", "connections", "megabytes", "users", "newcomers"])
        return await options.run(help: help, measure)
    }

    private static func measure(_ options: Options) async throws -> Int32 {
        let megabytes = options.number("megabytes", default: 64)
        let service = try await ServiceUnderTest(
            sections: "\n[store]\nmegabytes = \(megabytes)\n")
        let process = Int(service.program.identifier)
        let users = try Users(service, count: options.number("users", default: 50))
        users.start()
        let (url, key) = (service.url, service.feedKey)
        let seconds = options.number("newcomers", default: 20)
        let coming = Task {
            try await BlockingExecutor.run { try await newcomers(url, key, every: seconds) }
        }
        for part in 1...4 {
            if part > 1 {
                let rotated = try await service.command("rotate", "--now", "--yes")
                print("  rotation: \(rotated.output.split(separator: "\n").first ?? "failed")")
                guard rotated.status == 0 else { return 1 }
            }
            try await flood(service, options)
            let bytes = try files(service).map(\.1).reduce(0, +)
            let memory = ProcessStatus(of: process)
            print(
                "  resident \((memory?.resident ?? 0) >> 10) KiB, at most "
                    + "\((memory?.peak ?? 0) >> 10); on disk \(bytes >> 10) KiB")
            print("  users: \(users.report)")
            fflush(nil)
        }
        coming.cancel()
        let times = try await coming.value
        print("newcomers, seconds: \(times.map { $0.map(tenths) ?? "FAILED" })")
        let left = try await BlockingExecutor.run { try users.stop() }
        let database = try files(service).filter { $0.0.hasSuffix(".db") }.map(\.1).reduce(0, +)
        print("\(left) users are there; \(users.report)")
        let isIn = !times.isEmpty && times.allSatisfy { $0.map { $0 < 60 } ?? false }
        // Beyond the room for new rows lies what only deletes may take.
        let isSmall = database <= (megabytes + 4) << 20
        let isMet = left == users.count && users.isAnswered && isIn && isSmall
        print("all that must hold: \(isMet ? "met" : "MISSED")")
        return await service.stop() == 0 && isMet ? 0 : 1
    }

    private static func flood(_ service: ServiceUnderTest, _ options: Options) async throws {
        let total = options.number("operations", default: 1_000_000) / 4
        let port = service.port
        let process = Int(service.program.identifier)
        var left = total
        var sum = Measurement(operations: 0, seconds: 0)
        // In parts: the requests are made before they are sent.
        while left > 0 {
            let count = min(left, 50_000)
            let measured = try await BlockingExecutor.run {
                try HTTPLoad.run(
                    .loopback(port: port),
                    connections: options.number("connections", default: 64), operations: count,
                    process: process)
            }
            sum.operations += measured.operations + measured.failures
            sum.seconds += measured.seconds
            sum.failures += measured.failures
            left -= count
        }
        print(
            "flood: \(Int(sum.rate))/s, \(sum.operations - sum.failures) of \(sum.operations) taken"
        )
    }

    /// - Returns: the seconds that each took to register; nil for one that failed.
    private static func newcomers(
        _ url: String, _ key: String, every seconds: Int
    ) async throws -> [Double?] {
        var times: [Double?] = []
        repeat {
            let client = try await ClientUnderTest(
                feed: url + "/feed/", key: key, "--service", url)
            let watch = Stopwatch()
            let status = try await client.register(TestDevice())
            times.append(status == 0 ? watch.seconds : nil)
            for _ in 0..<10 * seconds where !Task.isCancelled { poll(nil, 0, 100) }
        } while !Task.isCancelled
        return times
    }

    private static func files(_ service: ServiceUnderTest) throws -> [(String, Int)] {
        try FileManager.default.contentsOfDirectory(atPath: service.data).map { name in
            var status = stat()
            let found = unsafe stat(service.data + "/" + name, &status) == 0
            return (name, found ? Int(status.st_size) : 0)
        }
    }
}

/// Users who renew one after the other, and others who delete: some what is stored, most what is
/// not, which is the same to the service.
private final class Users: Sendable {
    private struct Counts {
        var renewals = 0
        var others = 0
        var deletes: [UInt64] = []
        var flushes: [UInt64] = []
    }

    private let port: UInt16
    private let file: String
    private let devices: [TestDevice]
    private let leavers: [TestDevice]
    private let counts = Mutex(Counts())
    private let isOver = Atomic(false)
    private let ended = Semaphore()

    var count: Int { devices.count }

    init(_ service: ServiceUnderTest, count: Int) throws {
        port = service.port
        file = service.directory.path + "/flushed"
        devices = (0..<count).map { _ in TestDevice() }
        leavers = (0..<1000).map { _ in TestDevice() }
        let client = try LoopbackClient(port: port)
        for device in devices + leavers {
            guard try Self.put(device, client) == 204 else { throw HTTPLoad.Failure.silent }
        }
    }

    func start() {
        Thread.detachNewThread { [self] in
            do {
                try renew()
            } catch {
                counts.withLock { $0.others += 1 }
            }
            ended.post()
        }
    }

    private func renew() throws {
        let client = try LoopbackClient(port: port)
        let disk = try OpenFile(file, flags: O_WRONLY | O_CREAT)
        let bytes = [UInt8](repeating: 1, count: 4096)
        var step = 0
        while !isOver.load(ordering: .relaxed) {
            let renewed = try Self.put(devices[step % devices.count], client)
            let isKnown = step.isMultiple(of: 4) && step / 4 < leavers.count
            let device = isKnown ? leavers[step / 4] : TestDevice()
            let start = Stopwatch.monotonic()
            let deleted = try client.exchange(
                "DELETE", "/v1/registration", token: device.token)
            let end = Stopwatch.monotonic()
            // What the disk takes for the least that could be made durable.
            try disk.write(bytes.span, at: step * bytes.count)
            try disk.synchronize()
            let flushed = Stopwatch.monotonic()
            counts.withLock {
                $0.renewals += 1
                $0.others += (renewed == 204 ? 0 : 1) + (deleted.status == 204 ? 0 : 1)
                $0.deletes.append(end - start)
                $0.flushes.append(flushed - end)
            }
            step += 1
            poll(nil, 0, 10)
        }
    }

    private static func put(_ device: TestDevice, _ client: LoopbackClient) throws -> Int {
        try client.exchange(
            "PUT", "/v1/registration", token: device.token, body: device.body
        ).status
    }

    /// Milliseconds within which such a part of the times lies.
    private func late(_ times: [UInt64], _ part: Double) -> Double {
        times.isEmpty ? 0 : Double(times.sorted()[Int(Double(times.count - 1) * part)]) / 1e6
    }

    /// Whether nothing was refused, and 99 of 100 deletes took at most 50 ms. Each waits for four
    /// flushes, one of them somebody else's: a disk that takes longer for two decides by itself.
    var isAnswered: Bool {
        let counts = counts.withLock { $0 }
        let most = max(50, 2 * late(counts.flushes, 0.99))
        return counts.others == 0 && late(counts.deletes, 0.99) <= most
    }

    var report: String {
        let counts = counts.withLock { $0 }
        func line(_ times: [UInt64]) -> String {
            [0.5, 0.99, 1].map { tenths(late(times, $0)) }.joined(separator: " ")
        }
        return "\(counts.renewals) renewals, \(counts.others) answers other than 204; ms (p50, "
            + "p99, longest) of deletes \(line(counts.deletes)), of one flush of the disk "
            + line(counts.flushes)
    }

    /// - Returns: the users that are stored.
    func stop() throws -> Int {
        isOver.store(true, ordering: .relaxed)
        ended.wait()
        let client = try LoopbackClient(port: port)
        return try devices.count { device in
            let answer = try client.exchange("GET", "/v1/registration", token: device.token)
            return try RegistrationResponse.decode(answer.body).stored != nil
        }
    }
}
