import Glibc
import Synchronization
import Testing
import WakeSystem

@testable import WakeFetch

/// Bytes a sink was given, with what was seen on the way.
final class Gathered: Sendable {
    private let state = Mutex<(bytes: [UInt8], chunks: Int, largest: Int)>(([], 0, 0))

    func append(_ chunk: Span<UInt8>) {
        var copy: [UInt8] = []
        for index in chunk.indices { copy.append(chunk[index]) }
        state.withLock { state in
            state.bytes += copy
            state.chunks += 1
            state.largest = max(state.largest, copy.count)
        }
    }

    var bytes: [UInt8] { state.withLock { $0.bytes } }
    var chunks: Int { state.withLock { $0.chunks } }
    var largest: Int { state.withLock { $0.largest } }
}

/// What a closed-over callback saw, for later.
final class Seen<Value: Sendable>: Sendable {
    private let values = Mutex<[Value]>([])
    func note(_ value: Value) { values.withLock { $0.append(value) } }
    var all: [Value] { values.withLock { $0 } }
}

/// Runs `body` on a thread of its own.
func startThread(_ body: @escaping @Sendable () -> Void) {
    precondition((try? SystemThread.start(body)) != nil, "no thread left")
}

/// Blocks a thread in a read (of a pipe) until opened.
final class Gate: Sendable {
    private let ends: (read: Int32, write: Int32)

    init() {
        var ends: [Int32] = [0, 0]
        let status = unsafe ends.withUnsafeMutableBufferPointer { buffer -> Int32 in
            guard let start = buffer.baseAddress else { return -1 }
            return unsafe pipe(start)
        }
        precondition(status == 0)
        self.ends = (ends[0], ends[1])
    }

    deinit {
        Glibc.close(ends.read)
        Glibc.close(ends.write)
    }

    func open() {
        var byte: UInt8 = 1
        _ = unsafe write(ends.write, &byte, 1)
    }

    /// For one opening.
    func pass() {
        var byte: UInt8 = 0
        _ = unsafe read(ends.read, &byte, 1)
    }
}

extension Fetcher {
    /// One that trusts what loopback tests need.
    static func plain() throws -> Fetcher { try Fetcher(FetchConfiguration()) }
}

extension FetchRequest {
    /// A feed request with a limit of 1 MiB.
    static func get(
        _ url: FetchURL, limit: Int = 1 << 20, timeout: FetchTimeout = .standard,
        purpose: FetchPurpose = .feed
    ) -> FetchRequest {
        FetchRequest(url, limit: limit, timeout: timeout, purpose: purpose)
    }
}

extension FetchTimeout {
    /// Ends a stall after 300 ms.
    static let short = FetchTimeout(
        connect: .seconds(120), total: nil, throughput: .idle(.milliseconds(300)))
}

/// A well-formed answer with a length.
func answer(
    _ status: String = "200 OK", fields: String = "", _ body: String = ""
) -> String {
    "HTTP/1.1 \(status)\r\nContent-Length: \(body.utf8.count)\r\n\(fields)\r\n\(body)"
}

/// The error a fetch ended with; nil if it succeeded.
func failure(_ fetch: () async throws(FetchError) -> Void) async -> FetchError? {
    do throws(FetchError) {
        try await fetch()
        return nil
    } catch {
        return error
    }
}

/// The error of a fetch whose body is of no interest.
func failure(_ fetcher: Fetcher, _ request: FetchRequest) async -> FetchError? {
    await failure { () async throws(FetchError) in _ = try await fetcher.collect(request) }
}

/// Peak resident memory of this process in bytes, from the kernel.
func peakMemory() -> Int {
    var usage = rusage()
    unsafe getrusage(RUSAGE_SELF.rawValue, &usage)
    return usage.ru_maxrss * 1024
}
