package import Glibc
package import WakeHTTP
import WakeModel
package import WakePush
package import WakeStore
import WakeSystem

/// The settings of an operator, with the defaults of an embedded installation. Paths are absolute.
package struct Configuration: Sendable, Equatable {
    package enum Address: Sendable, Equatable {
        case tcp(host: String, port: UInt16)
        case unix(path: String)

        /// Whether only this machine can reach it.
        package var isLocal: Bool {
            switch self {
            case .unix: true
            case .tcp(let host, _): Self.isLoopback(host)
            }
        }

        /// Whether it is a Unix socket, which no web page reaches.
        var isFile: Bool { if case .unix = self { true } else { false } }

        /// As the file has it.
        package var text: String {
            switch self {
            case .tcp(let host, let port):
                host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)"
            case .unix(let path): "unix:\(path)"
            }
        }

        /// `localhost`, `::1`, or a literal of 127.0.0.0/8. A name that begins with "127." is
        /// anybody's.
        static func isLoopback(_ host: String) -> Bool {
            if host == "localhost" || host == "::1" { return true }
            let parts = host.split(separator: ".", omittingEmptySubsequences: false)
            return parts.count == 4 && parts[0] == "127"
                && parts.allSatisfy { UInt8($0) != nil && !$0.hasPrefix("+") }
        }
    }

    // [http]
    package var listen = Address.tcp(host: "127.0.0.1", port: 8080)
    package var proxyProtocol = false
    /// nil: 20,000, or as many as there are descriptors for.
    package var connections: Int?
    package var streams = 10_000
    package var streamsPerAddress = 32
    package var streamKeepAliveSeconds = 45
    package var connectionsPerAddress = 256
    package var drainSeconds = 10
    /// Pages whose scripts may use the public routes; nil: none.
    package var origins: WebOrigins?

    // [admin]
    package var admin: Address
    /// The file of the token that programs have to show; a listener on TCP needs one.
    package var adminToken: String?

    // [metrics]
    /// A listener of this machine that answers with metrics and health alone; nil: none.
    package var metrics: Address?

    // [store]
    package var data: String
    package var keys: String
    /// Whether the keys are in no file: every start begins with an empty store.
    package var keysInMemory = false
    /// Days between two rotations: a registration lives for one to two of them.
    package var rotationDays = 7
    package var storeMegabytes = 4096

    // [registration]
    /// New registrations from one address prefix in ten minutes that cost their clients no work.
    package var newPerPrefix = 16
    /// The same from everybody in a day; 0: a quarter of the room for new rows, and as much again
    /// in the life of a row.
    package var newPerDay = 0

    // [feed]
    package var feed: String
    package var feedKey: String
    package var feedServed = true
    /// The file of the policy that every new head needs the cosignatures of; nil: none.
    package var witnesses: String?
    /// Seconds caches in front of the feed may keep the head; 0 when this service serves it.
    package var cacheSeconds = 0
    package var spreadSeconds = 0
    /// Seconds between a client's polls.
    package var pollSeconds = 14_400

    /// The sections of `GatewaySection.all` and `[relay]`, their keys and values as written.
    package var sections: [String: [String: String]] = [:]

    // The same as read; nil when there is none.
    package var apns: APNsConfiguration?
    package var apnsEnvironments = APNsEnvironments.both
    package var fcm: FCMConfiguration?
    /// Instead of the two above.
    package var apnsRelay: RelayConfiguration?
    package var fcmRelay: RelayConfiguration?
    package var webPush: WebPushConfiguration?

    // [relay]
    package var relay: RelaySettings?

    // [oblivious]
    /// The file of the gateway's key; nil: there is no gateway.
    package var obliviousKey: String?
    /// The key before, as long as feeds and caches name it.
    package var obliviousFormerKey: String?
    /// The front that inner requests are passed on to; nil: they are answered here.
    package var obliviousUpstream: ServiceAddress?

    // [cluster]
    /// The listener for deletions that other shards hand on; nil: none.
    package var cluster: Address?
    /// The shards that deletions are handed on to.
    package var peers: [ServiceAddress] = []

    // [broadcast]
    /// Seconds between two heartbeats, and in which a broadcast must fit.
    package var intervalSeconds = 7200
    package var heartbeat = true
    /// Fetches a second that the feed's origin may get; 0: no limit.
    package var fetchesPerSecond = 1000
    /// "Gone" of 1,000 answers that are believed, see ``DeletionBreaker``.
    package var gonePerMille = 50
    /// Whether a new sequence of the feed starts a broadcast by itself.
    package var watch = false
    /// The address of a feed that lies elsewhere; nil: this service's directory is watched.
    package var watchedFeed: String?
    /// Its public key, base64url.
    package var watchKey = ""

    // [page]
    /// Empty: not said.
    package var pageOperator = ""
    package var pageContact = ""

    // [log]
    package var logLevel = LogLevel.info

    package init(directory: String) {
        admin = .unix(path: directory + "/admin.sock")
        data = directory + "/data"
        keys = directory + "/keys/registration.key"
        feed = directory + "/feed"
        feedKey = directory + "/keys/feed.key"
    }
}

extension Configuration {
    /// The file that `reveille init` writes; Web Push is on with a key for it.
    package static func template(hasVAPIDKey: Bool) -> String {
        let off = hasVAPIDKey ? "" : "# "
        return """
            # Reveille. Paths are relative to this file. `reveille check` explains what is in force.

            [http]
            listen = 127.0.0.1:8080
            # listen = unix:/run/reveille/http.sock  # behind a front on the same machine
            # proxy-protocol = on                    # when that front speaks PROXY protocol v2

            [admin]
            listen = unix:admin.sock
            # listen = 127.0.0.1:8081   # instead; every user of this machine can connect, hence:
            # token = keys/admin.token  # made by `reveille keygen --kind admin`, mode 0600

            # [metrics]
            # listen = 127.0.0.1:9464  # read-only, for Prometheus on this machine

            [store]
            data = data
            keys = keys/registration.key
            # keys = memory      # in no file: a restart forgets everyone until they renew
            # rotation-days = 7  # a registration expires 7 to 14 days after its last renewal
            # megabytes = 4096   # about 640 registrations in each; deletes always fit

            # [registration]       # with more new ones, clients have to compute for a moment
            # new-per-prefix = 16  # in ten minutes from a network (/24, /56), where it shows
            # new-per-day = 0      # in all; 0: by what the store holds

            [feed]
            directory = feed
            key = keys/feed.key
            serve = on
            # spread-seconds = 300          # woken clients spread their fetches over so long
            # cache-seconds = 30            # when a cache or CDN serves the feed
            # witnesses = witnesses.policy  # no head without the cosignatures of so many (FEED.md)

            # [apns]
            # key = AuthKey_ABC123DEFG.p8     # as downloaded from the developer account, mode 0600
            # key-id = ABC123DEFG
            # team-id = TEAM123456
            # topic = org.example.app         # the app's bundle identifier
            # environments = production       # or sandbox; without, push tokens of both are taken
            # via = https://wake.example.org  # instead: the Reveille of the app's owner
            # via-key = keys/relay.key        # made by `reveille keygen --kind relay`

            # [fcm]
            # key = service-account.json      # as downloaded from the Firebase console, mode 0600
            # topic = wake                    # apps subscribe themselves; no push tokens are kept
            # per-minute = 600000             # the project's quota, unless Google granted another
            # via = https://wake.example.org  # instead, as for APNs, with via-key

            \(off)[webpush]                            # browsers and UnifiedPush; needs no account
            \(off)key = keys/vapid.key                 # apps subscribe with its public half
            # subject = mailto:push@example.org  # whom push services may write to; Apple's need it
            # hosts = known, push.example.org    # any: all hosts; *.example.org: those below it
            # body = byte                        # for UnifiedPush services that refuse none
            # heartbeat = on                     # also to browsers, where people see every push

            [broadcast]
            fetches-per-second = 1000  # what the feed's origin may get; 0: as fast as pushes go
            # interval-seconds = 7200  # everyone is woken once in it, published or not
            # heartbeat = off          # only when something was published
            # watch = on               # a new head starts a broadcast; or https://URL of another
            # gone-permille = 50       # of 1,000 push tokens called gone; with more, most stay

            # [relay]                       # passes on wake-ups of those that `relay allow` named
            # authority = wake.example.org  # this service's host name, as installations address it
            # wakes-per-minute = 60000      # for each of them

            # [oblivious]                      # clients register through a relay
            # key = keys/oblivious.key         # made by `reveille keygen --kind ohttp`
            # former-key = keys/former.key     # the one before, until no client uses it
            # upstream = http://10.0.0.1:8090  # of several shards: their front, for what is inside

            # [cluster]                                 # a shard: see Deploy/cluster/README.md
            # listen = unix:/run/reveille/1/peers.sock  # what other shards hand on
            # peers = unix:/run/reveille/2/peers.sock   # they forget what is deleted here

            # [page]                         # what GET / tells people, beside what is stored
            # operator = Example Health Office
            # contact = privacy@example.org  # or an https address

            [log]
            level = info

            """
    }

    package var store: StoreConfiguration {
        // SQLite refuses a path with a link anywhere in it; above the directory one is harmless.
        var store = StoreConfiguration(
            dataDirectory: Files.resolvingParents(of: data), keyFile: keysInMemory ? nil : keys)
        store.maxPages = storeMegabytes << 20 / Limits.pageBytes
        return store
    }

    /// A failed flush is logged before the process ends and its service manager restarts it.
    func store(log: Log) -> StoreConfiguration {
        var store = store
        store.onFatal = {
            log(.storeFailed)
            Log.flush()
            _exit(1)
        }
        return store
    }

    func remoteHead() throws(SetupError) -> RemoteFeedHead? {
        guard let watchedFeed else { return nil }
        return try RemoteFeedHead(watchedFeed, key: watchKey)
    }

    /// Whether clients can be told apart by where they come from, which the caps for each address
    /// need: over a Unix socket and from this machine itself by a PROXY header alone.
    package var knowsAddresses: Bool { proxyProtocol || !listen.isLocal }

    var rotationSeconds: Int { rotationDays * 86_400 }
    /// Seconds between two heartbeats; nil: none.
    package var heartbeatSeconds: Int? { heartbeat ? intervalSeconds : nil }

    func httpLimits(_ budget: DescriptorBudget) -> HTTPLimits {
        var limits = HTTPLimits()
        limits.streamKeepAliveSeconds = streamKeepAliveSeconds
        limits.streamKeepAliveJitterSeconds = streamKeepAliveSeconds / 4
        limits.connections = budget.connections
        limits.descriptors = budget.publicNumbers
        limits.connectionsPerSource = connectionsPerAddress
        limits.streams = budget.streams
        limits.streamsPerSource = streamsPerAddress
        limits.drainSeconds = drainSeconds
        return limits
    }
}

extension Configuration {
    /// The listeners as they are bound, by their sections: [http], [admin], and those of [cluster]
    /// and [metrics] that there are.
    var listeners: [(section: String, address: ListenerConfiguration.Address)] {
        addresses.map { section, address in
            let mode: mode_t =
                switch section {
                case "http": 0o666
                case "metrics": 0o660
                default: 0o600
                }
            return (section, address.listening(mode: mode))
        }
    }

    /// The addresses of all listeners by their sections, in the order in which they are bound.
    package var addresses: [(section: String, address: Address)] {
        let optional = [("cluster", cluster), ("metrics", metrics)]
        return [("http", listen), ("admin", admin)]
            + optional.compactMap { section, address in address.map { (section, $0) } }
    }

    /// Takes back the access that an orchestrator gave the group of a volume.
    package func closeToGroup() {
        for path in privatePaths { Files.closeToGroup(path) }
        if let relay { Files.closeToGroup(relay.installations, keeping: 0o740) }
    }

    /// What only this user may have access to: each of these is refused otherwise.
    package var privatePaths: [String] {
        let files = (try? Files.names(in: data))?.map { data + "/" + $0 } ?? []
        let named = sections.values.flatMap { section in
            ["key", "via-key"].compactMap { section[$0] }
        }
        return [data] + files + [keys, feedKey] + named
            + [Files.parent(of: keys), adminToken, obliviousKey, obliviousFormerKey]
            .compactMap(\.self)
    }
}

extension Configuration.Address {
    /// Whether both cannot be bound. The system chooses another port for each 0.
    func collides(with other: Configuration.Address) -> Bool {
        guard case .tcp(let host, let port) = self, case .tcp(let otherHost, let otherPort) = other
        else { return self == other }
        let hosts = [host, otherHost]
        let isShared =
            host == otherHost || hosts.contains { ["*", "0.0.0.0", "::"].contains($0) }
            || (hosts.contains("localhost") && hosts.allSatisfy(Self.isLoopback))
        return port == otherPort && port != 0 && isShared
    }

    package func listening(mode: mode_t) -> ListenerConfiguration.Address {
        switch self {
        case .tcp(let host, let port): .tcp(host: host, port: port)
        case .unix(let path): .unix(path: path, mode: mode)
        }
    }
}
