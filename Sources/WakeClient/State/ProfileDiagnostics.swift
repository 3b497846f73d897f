import WakeFeed
import WakeFetch
import WakeModel
import WakeSystem

/// Read-only checks of everything that a profile needs. It holds nothing that a running client
/// needs; its requests are those of every client, and carry nothing of anybody.
package struct ProfileDiagnostics {
    private let configuration: ClientConfiguration
    private let environment: ClientEnvironment
    private let key: FeedKey
    private let head: FetchURL
    private let wakes: FetchURL?
    /// nil before the first start of the client.
    private let database: StateDatabase?

    /// - Throws: `configuration` or `state`.
    package init(
        _ configuration: ClientConfiguration, environment: ClientEnvironment = .live
    ) throws(ClientError) {
        self.configuration = configuration
        self.environment = environment
        guard let key = FeedKey(text: configuration.feedKey) else {
            throw .configuration(.feedKey)
        }
        self.key = key
        do throws(FetchError) {
            head = try FetchURL(configuration.feed).appending("head")
            wakes = try configuration.service.map { (text) throws(FetchError) in
                try FetchURL(text).appending("v1/wakes")
            }
        } catch {
            throw .configuration(.feedURL)
        }
        let path = try StateDirectory.checkedDatabase(in: configuration.stateDirectory)
        database =
            Files.exists(path) ? try StateDatabase(inspecting: configuration.stateDirectory) : nil
    }

    /// Version of the state's schema; nil before the first start.
    package var stateVersion: Int64? { database == nil ? nil : StateDatabase.version }

    /// The way to the network.
    package struct Transport {
        fileprivate let transport: any ClientTransport
    }

    /// - Throws: `configuration(.libraryMissing)` naming the package, or `configuration(.proxy)`.
    package func transport() throws(ClientError) -> Transport {
        Transport(transport: try environment.makeTransport(through: configuration.proxy))
    }

    /// Checks that requests can be made at all, by any profile.
    /// - Throws: `configuration(.libraryMissing)` naming the package.
    package static func checkLibrary(
        _ environment: ClientEnvironment = .live
    ) throws(ClientError) {
        _ = try environment.makeTransport(through: nil)
    }

    /// The feed's head, checked against what this profile knows.
    package struct Feed: Sendable {
        package let sequence: UInt64
        /// Batches that the next cycle will check.
        package let unchecked: Int
        /// Seconds since the publisher signed; negative when this clock is behind.
        package let age: Int64
        package let isExpired: Bool
        /// Seconds by which the head comes from the future, beyond what is tolerated.
        package let isFromFuture: Bool
        /// Seconds by which the server's clock, which is not signed, is ahead of this one.
        package let serverAhead: Int64?
    }

    /// Fetches the head as every cycle does, and keeps nothing of it.
    package func feed(by transport: Transport) async throws(ClientError) -> Feed {
        let request = FetchRequest(head, limit: FeedLimits.headBytes, purpose: .feed)
        let (bytes, response) = try await transport.transport.body(of: request)
        let now = environment.wallSeconds()
        let verified = try mapError(ClientError.init) { () throws(FeedError) in
            try HeadVerifier(cursor: try cursor()).verify(bytes.span, now: now)
        }
        let tolerance = FeedLimits.clockToleranceSeconds
        return Feed(
            sequence: verified.head.sequence, unchecked: verified.plan.count,
            age: now - verified.head.issued,
            isExpired: verified.head.expires < now - tolerance,
            isFromFuture: verified.head.issued > now + tolerance,
            serverAhead: response.date.map { $0 - now })
    }

    private func cursor() throws(FeedError) -> FeedCursor {
        let known = try? database?.feed()?.cursor
        let cursor = known ?? FeedCursor(key: key)
        guard cursor.feedID == key.feedID else { throw .wrongFeed }
        return cursor
    }

    /// The result of opening the event stream.
    package enum Stream: Sendable, Equatable {
        case works
        /// The service answered, but not with a stream.
        case refused(status: Int)
        /// A stream that says nothing.
        case silent
    }

    /// Opens the event stream as every client does, and closes it after the first event, which
    /// comes at once. nil when there is no service.
    package func stream(by transport: Transport) async throws(ClientError) -> Stream? {
        guard let wakes else { return nil }
        let time = Duration.seconds(30)
        let request = FetchRequest(
            wakes, limit: EventStream.byteLimit,
            timeout: FetchTimeout(connect: time, total: time, pace: .idle(time)), purpose: .stream)
        let inbox = StreamInbox()
        var failure: FetchError?
        do throws(FetchError) {
            _ = try await transport.transport.fetch(
                request, onHead: { inbox.begin($0) },
                sink: { inbox.append($0) == .stop || inbox.hasEvent ? .stop : .proceed })
        } catch {
            // Also the end of the fetch after the first event.
            failure = error
        }
        if inbox.hasEvent { return .works }
        if let response = inbox.response, !inbox.isConnected {
            return .refused(status: response.status)
        }
        if let failure { throw ClientError(failure) }
        return .silent
    }

    /// Batches that are kept for secrets added later, and their bytes.
    package func cached() -> (batches: Int, bytes: Int) {
        let directory = configuration.cacheDirectory + "/" + key.feedID.text
        let names = ((try? Files.names(in: directory)) ?? [])
            // Sequence, hyphen, hash; not the head, nor a part file.
            .filter { $0.utf8.count == 37 }
        let sizes = names.map { (try? FileStatus(of: directory + "/" + $0))?.size ?? 0 }
        return (names.count, sizes.reduce(0, +))
    }

    /// The process that holds the profile; nil when none is seen.
    package static func holder(of configuration: ClientConfiguration) -> Int32? {
        let lock = configuration.stateDirectory + "/lock"
        guard let target = try? Files.resolve(lock),
            let bytes = try? Files.readGiven("/proc/locks", limit: 1 << 20)
        else { return nil }
        // proc_locks(5): "1: FLOCK ADVISORY WRITE 2718 08:01:2352 0 EOF". Asking the kernel for
        // the lock itself could take it from a client that starts at this moment.
        for line in String(decoding: bytes, as: UTF8.self).split(separator: "\n") {
            let fields = line.split(separator: " ")
            guard fields.count > 4, fields[1] == "FLOCK", let process = Int32(fields[4]) else {
                continue
            }
            let files = "/proc/\(process)/fd"
            let names = (try? Files.names(in: files)) ?? []
            if names.contains(where: { (try? Files.resolve("\(files)/\($0)")) == target }) {
                return process
            }
        }
        return nil
    }
}
