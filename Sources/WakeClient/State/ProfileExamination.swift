import Synchronization
import WakeFeed
import WakeFetch
import WakeFiles
import WakeModel

/// Looks at everything that a profile needs, changes nothing, and holds nothing that a running
/// client needs. Its requests are those of every client, and there is nothing of anybody in them.
package struct ProfileExamination {
    private let configuration: ClientConfiguration
    private let environment: ClientEnvironment
    private let key: FeedKey
    private let head: FetchURL
    private let wakes: FetchURL?
    /// nil before the first start of the client.
    private let state: StateDatabase?

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
        let path = configuration.stateDirectory + "/client.db"
        for suffix in ["", "-wal", "-shm"] { try StateDirectory.checkFile(path + suffix) }
        guard Files.exists(path) else {
            state = nil
            return
        }
        do throws(StateError) {
            state = try StateDatabase(path: path)
        } catch {
            throw error.clientError
        }
    }

    /// Version of the state's schema; nil before the first start.
    package var stateVersion: Int64? { state == nil ? nil : StateDatabase.version }

    // MARK: Network

    /// What carries requests.
    /// - Throws: `configuration(.libraryMissing)` naming the package, or `configuration(.proxy)`.
    package func carrier() throws(ClientError) -> Carrier {
        do throws(FetchError) {
            let fetch = try WakeClient.fetchConfiguration(configuration.proxy, environment)
            return Carrier(transport: try environment.transport(fetch))
        } catch {
            throw ClientError(error)
        }
    }

    /// Whether requests can be made at all, of any profile.
    /// - Throws: `configuration(.libraryMissing)` naming the package.
    package static func checkLibrary(
        _ environment: ClientEnvironment = .live
    ) throws(ClientError) {
        do throws(FetchError) {
            _ = try environment.transport(FetchConfiguration())
        } catch {
            throw ClientError(error)
        }
    }

    package struct Carrier {
        fileprivate let transport: any ClientTransport
    }

    /// What the feed's head says, checked against what this profile knows.
    package struct Feed: Sendable {
        package let sequence: UInt64
        /// Batches that the next cycle will check.
        package let unchecked: Int
        /// Seconds since the publisher signed; negative when this clock is behind.
        package let age: Int64
        package let isExpired: Bool
        /// Seconds by which the head comes from the future, beyond what is tolerated.
        package let isFromFuture: Bool
        /// How far the server's clock, which nobody signs, is ahead of this one.
        package let serverAhead: Int64?
    }

    /// Fetches the head as every cycle does, and keeps nothing of it.
    package func feed(by carrier: Carrier) async throws(ClientError) -> Feed {
        let body = BoundedBody(limit: FeedLimits.headBytes)
        let request = FetchRequest(head, limit: FeedLimits.headBytes, purpose: .feed)
        let response: FetchResponse
        do throws(FetchError) {
            response = try await carrier.transport.fetch(
                request, onHead: { _ in .proceed }, sink: { body.append($0) })
        } catch {
            throw ClientError(error)
        }
        guard response.status == 200 else {
            throw .httpStatus(response.status, retryAfter: response.retryAfter)
        }
        let now = environment.wallSeconds()
        let bytes = body.take()
        do throws(FeedError) {
            let verifier = HeadVerifier(cursor: try cursor())
            let verified = try verifier.verify(bytes.span, now: now)
            let tolerance = FeedLimits.clockToleranceSeconds
            return Feed(
                sequence: verified.head.sequence, unchecked: verified.plan.count,
                age: now - verified.head.issued,
                isExpired: verified.head.expires < now - tolerance,
                isFromFuture: verified.head.issued > now + tolerance,
                serverAhead: response.date.map { $0 - now })
        } catch {
            throw ClientError(error)
        }
    }

    private func cursor() throws(FeedError) -> FeedCursor {
        let known = try? state?.feed()?.cursor
        let cursor = known ?? FeedCursor(key: key)
        guard cursor.feedID == key.feedID else { throw .wrongFeed }
        return cursor
    }

    /// What came of opening the event stream.
    package enum Stream: Sendable, Equatable {
        case works
        /// The service answered, but not with a stream.
        case refused(status: Int)
        /// A stream that says nothing.
        case silent
    }

    /// Opens the event stream as every client does, and closes it after the first event, which
    /// comes at once. nil when there is no service.
    package func stream(by carrier: Carrier) async throws(ClientError) -> Stream? {
        guard let wakes else { return nil }
        let time = Duration.seconds(30)
        let request = FetchRequest(
            wakes, limit: WakeInbox.limit,
            timeout: FetchTimeout(connect: time, total: time, pace: .idle(time)), purpose: .stream)
        let look = StreamLook()
        do throws(FetchError) {
            _ = try await carrier.transport.fetch(
                request, onHead: { look.begin($0) }, sink: { look.take($0) })
        } catch {
            // Also how the fetch ends when the look has seen enough.
            guard look.found == nil else { return look.found }
            throw ClientError(error)
        }
        return look.found ?? .silent
    }

    // MARK: Files

    /// Batches that are kept for secrets added later, and their bytes.
    package func cached() -> (batches: Int, bytes: Int) {
        let directory = configuration.cacheDirectory + "/" + key.feedID.text
        let names = ((try? Files.names(in: directory)) ?? [])
            // Sequence, hyphen, hash; not the head, nor what is fetched half.
            .filter { $0.utf8.count == 37 }
        let sizes = names.map { (try? FileStatus(of: directory + "/" + $0))?.size ?? 0 }
        return (names.count, sizes.reduce(0, +))
    }

    /// The process that holds the profile; nil when none is seen to.
    package static func holder(of configuration: ClientConfiguration) -> Int32? {
        let lock = configuration.stateDirectory + "/lock"
        guard let target = try? Files.resolve(lock),
            let bytes = try? Files.readGiven("/proc/locks", limit: 1 << 20)
        else { return nil }
        // proc_locks(5): "1: FLOCK ADVISORY WRITE 2718 08:01:2352 0 EOF". Asking the kernel for
        // the lock itself could take it from a client that starts at this moment.
        for line in String(decoding: bytes, as: UTF8.self).split(separator: "\n") {
            let words = line.split(separator: " ")
            guard words.count > 4, words[1] == "FLOCK", let process = Int32(words[4]) else {
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

/// Reads the beginning of an event stream, on the fetch thread.
private final class StreamLook: Sendable {
    private struct State {
        var reader = WakeEventReader()
        var found: ProfileExamination.Stream?
    }

    private let state = Mutex(State())

    var found: ProfileExamination.Stream? { state.withLock { $0.found } }

    func begin(_ response: FetchResponse) -> FetchVerdict {
        state.withLock { state in
            if response.status == 200, response.contentType == .eventStream { return .proceed }
            state.found = .refused(status: response.status)
            return .stop
        }
    }

    func take(_ piece: Span<UInt8>) -> FetchVerdict {
        let bytes = Array(copying: piece)
        return state.withLock { state in
            guard let events = try? state.reader.append(bytes.span) else { return .stop }
            guard !events.isEmpty else { return .proceed }
            state.found = .works
            return .stop
        }
    }
}
