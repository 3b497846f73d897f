import WakeFeed
import WakeFetch
import WakeModel
import WakeSystem

/// Read-only checks of a profile, beside a running client. The requests are those of every client.
package struct ProfileDiagnostics {
    private let configuration: ClientConfiguration
    private let environment = ClientEnvironment.live
    private let addresses: FeedAddresses
    private let wakes: FetchURL?
    /// nil before the first start of the client.
    private let database: StateDatabase?

    /// - Throws: `configuration` or `state`.
    package init(_ configuration: ClientConfiguration) throws(ClientError) {
        self.configuration = configuration
        addresses = try FeedAddresses(configuration)
        wakes = try ServiceAddresses(configuration).wakes
        let path = try StateDirectory.checkedDatabase(in: configuration.stateDirectory)
        database =
            Files.exists(path) ? try StateDatabase(inspecting: configuration.stateDirectory) : nil
    }

    /// Version of the state's schema; nil before the first start.
    package var stateVersion: Int64? { database == nil ? nil : StateDatabase.version }

    /// - Throws: `configuration(.libraryMissing)` naming the package, or `configuration(.proxy)`.
    package func transport() throws(ClientError) -> any ClientTransport {
        try environment.makeTransport(through: configuration.proxy)
    }

    /// - Throws: `configuration(.libraryMissing)`, naming the package, when no request can be made.
    package static func checkLibrary() throws(ClientError) {
        _ = try ClientEnvironment.live.makeTransport(through: nil)
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
        /// The file `keys` was asked for and did not come, or does not verify.
        package let lacksKeys: Bool
        /// The end of the check of the head's proof; nil without a policy of witnesses.
        package let witnesses: Witnesses?
        /// Seconds by which the server's clock, which is not signed, is ahead of this one; nil when
        /// it is about the same.
        package let serverAhead: Int64?
        /// That is the server's fault: this clock fits to the head, and its does not.
        package let isServersClockWrong: Bool
        fileprivate let gatewayKeys: GatewayKeyHashes
    }

    package enum Witnesses: Sendable, Equatable {
        /// A quorum has cosigned; the heads in the log.
        case quorum(heads: UInt64)
        case failed(ClientError)
    }

    private func witnesses(
        _ fetched: FetchedHead, _ verified: VerifiedHead, now: Int64
    ) -> Witnesses? {
        guard let policy = addresses.policy else { return nil }
        do throws(ClientError) {
            let known = try? database?.feed()?.log
            let proven = try fetched.prove(verified, under: policy, after: known, now: now)
            return .quorum(heads: proven.cursor.size)
        } catch { return .failed(error) }
    }

    /// Fetches the head as every cycle does, and keeps nothing of it.
    package func feed(by transport: any ClientTransport) async throws(ClientError) -> Feed {
        let fetched = try await FetchedHead(of: addresses, after: cursor(), through: transport)
        let now = environment.wallSeconds()
        let verified = try mapError(ClientError.init) { () throws(FeedError) in
            try fetched.verify(now: now)
        }
        let tolerance = FeedLimits.clockToleranceSeconds
        let ahead = fetched.serverAhead(of: now)
        let isServerWrong = fetched.isServersClockWrong(at: now, verified.head)
        return Feed(
            sequence: verified.head.sequence, unchecked: verified.plan.count,
            age: now - verified.head.issued,
            isExpired: verified.head.expires < now + (isServerWrong ? 0 : ahead ?? 0) - tolerance,
            isFromFuture: verified.head.issued > now + tolerance,
            lacksKeys: fetched.lacksKeys,
            witnesses: witnesses(fetched, verified, now: now),
            serverAhead: ahead, isServersClockWrong: isServerWrong,
            gatewayKeys: verified.cursor.settings.gatewayKeys)
    }

    private func cursor() -> FeedCursor {
        (try? database?.feed())?.cursor ?? FeedCursor(key: addresses.key)
    }

    /// Asks the service through the relay about an instance token that nobody has, which is how
    /// registrations go, and shows nothing of this client's.
    /// - Returns: false where they go directly.
    package func relay(
        under feed: Feed, by transport: any ClientTransport
    ) async throws(ClientError) -> Bool {
        let service = try ServiceAddresses(configuration)
        guard let url = service.registration,
            let keys = try GatewayKeys(of: service, addresses.base, nil)
        else { return false }
        keys.name(feed.gatewayKeys)
        _ = try await HeldRegistration(
            of: environment.newInstanceToken(), at: url,
            through: try service.carrier(keys, over: transport))
        return true
    }

    package enum Stream: Sendable, Equatable {
        case works
        /// The service answered, but not with a stream.
        case refused(status: Int)
        /// The connection is there, and nothing comes.
        case silent
        /// The server ended it before the first event.
        case ended
    }

    /// Opens the event stream, and closes it after the first event; nil when there is no service.
    package func stream(by transport: any ClientTransport) async throws(ClientError) -> Stream? {
        guard let wakes else { return nil }
        let time = Duration.seconds(30)
        let request = FetchRequest(
            wakes, limit: EventStream.byteLimit,
            timeout: FetchTimeout(connect: time, total: time, throughput: .idle(.seconds(10))),
            purpose: .stream)
        let inbox = StreamInbox(in: environment)
        var failure: FetchError?
        do throws(FetchError) {
            _ = try await transport.fetch(
                request, onHead: { inbox.begin($0) },
                sink: { inbox.append($0) == .stop || inbox.hasEvent ? .stop : .proceed })
        } catch {
            // Also the end of the fetch after the first event.
            failure = error
        }
        if inbox.hasEvent { return .works }
        // A proxy on the way keeps back what should pass, until the time is over.
        if failure == .timeout || failure == .unanswered { return .silent }
        if let response = inbox.response {
            return inbox.isConnected ? .ended : .refused(status: response.status)
        }
        if let failure { throw ClientError(failure) }
        return .ended
    }

    /// Batches that are kept for secrets added later.
    package struct Cached: Sendable {
        package let batches: Int
        package let bytes: Int
        /// Batches that were checked and are retained by the feed, and not kept.
        package let lost: Int
    }

    package func cached() -> Cached {
        let directory = configuration.cacheDirectory + "/" + addresses.key.feedID.text
        let names = ((try? Files.names(in: directory)) ?? []).filter(FeedHead.isBatchName)
        let sizes = names.map { (try? FileStatus(of: directory + "/" + $0))?.size ?? 0 }
        var lost = 0
        if let record = try? database?.feed(), let bytes = try? database?.bytes(.head),
            let head = FeedHead(stored: bytes), head.count > 0
        {
            lost = (head.firstSequence...head.sequence).count { sequence in
                record.hasChecked(sequence)
                    && !(head.batchName(for: sequence).map(names.contains) ?? true)
            }
        }
        return Cached(batches: names.count, bytes: sizes.reduce(0, +), lost: lost)
    }

    /// Whether the client that listens for other processes answers within 5 s; nil when none does.
    package static func answers(_ configuration: ClientConfiguration) -> Bool? {
        ControlSocket.answers(in: configuration.stateDirectory)
    }

    /// The process that holds the profile; nil when none is seen.
    package static func holder(of configuration: ClientConfiguration) -> Int32? {
        Files.lockHolder(of: configuration.stateDirectory + "/lock")
    }
}
