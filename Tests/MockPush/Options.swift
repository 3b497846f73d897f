/// What the mock is told by flags; see `usage`.
struct Options {
    /// One fault: every `every` requests, an answer of the mock's own.
    struct Injected {
        var every: Int
        var status: Int
        var reason: String
        var retryAfter: Int?
    }

    var port: UInt16 = 0
    var certificate: String?
    var key: String?
    var withoutALPN = false

    // What a request must have; nil is not checked.
    var publicKey: String?
    var keyID: String?
    var teamID: String?
    var topic: String?
    var tokenAge = 3600
    var tokenInterval = 0

    // Faults; 0 is never.
    var latency = 0
    var streams = 1000
    /// From which request on how many streams are allowed.
    var streamsAt: [(request: Int, streams: Int)] = []
    var goAwayEvery = 0
    var resetEvery = 0
    var refuseEvery = 0
    var answers: [Injected] = []
    var stallAt = 0
    var stallSeconds = 5
    var garbageAt = 0
    var hugeHeadersEvery = 0
    var dynamicHeaders = false
    var tableSize: Int?
    var window: Int?

    /// Ends with a report after so many distinct tokens.
    var exitAt = 0

    static let usage = """
        usage: mock-push [FLAG VALUE]…  plain HTTP/2 on 127.0.0.1 unless given a certificate

          --port N                 0: any free one; the first line says which
          --certificate FILE       PEM chain; with --key FILE, TLS with ALPN h2
          --without-alpn yes       TLS that selects no protocol
          --public-key FILE        verify provider tokens with this PEM key
          --key-id, --team-id, --topic TEXT   what requests must carry
          --token-age S            older provider tokens are expired (3600)
          --token-interval S       newer ones sooner are 429 TooManyProviderTokenUpdates (0: off)
          --latency MS             from request to answer
          --streams N              concurrent streams (1000)
          --streams-at R:N         from request R on, N concurrent streams; may be repeated
          --goaway-every N         GOAWAY at every Nth request; what follows is not looked at
          --reset-every N          RST_STREAM after the token was counted as delivered
          --refuse-every N         RST_STREAM REFUSED_STREAM, not delivered
          --answer N:STATUS[:REASON[:RETRY-AFTER]]   at every Nth request; may be repeated
          --stall-at N             that connection falls silent for --stall-seconds S (5)
          --garbage-at N           bytes that are no frame, then the end of the connection
          --huge-headers-every N   30 KiB of fields in HEADERS and CONTINUATION
          --dynamic-headers yes    answers use Huffman strings and the dynamic table
          --table-size N           SETTINGS_HEADER_TABLE_SIZE
          --window N               SETTINGS_INITIAL_WINDOW_SIZE, opened byte by byte as needed
          --exit-at N              report and end after N distinct tokens

        On SIGTERM or SIGINT it prints one line of JSON and ends.

        """

    /// nil after a flag or value that is not of `usage`.
    init?(_ arguments: [String]) {
        var rest = arguments[...]
        while let flag = rest.popFirst() {
            guard let value = rest.popFirst() else { return nil }
            if let place = Self.numbers[flag] {
                guard let number = Int(value), number >= 0 else { return nil }
                self[keyPath: place] = number
            } else if let place = Self.texts[flag] {
                self[keyPath: place] = value
            } else if !set(flag, value) {
                return nil
            }
        }
        streamsAt.sort { $0.request < $1.request }
        guard (certificate == nil) == (key == nil) else { return nil }
    }

    private static var numbers: [String: WritableKeyPath<Options, Int>] {
        [
            "--token-age": \.tokenAge, "--token-interval": \.tokenInterval,
            "--latency": \.latency, "--streams": \.streams, "--goaway-every": \.goAwayEvery,
            "--reset-every": \.resetEvery, "--refuse-every": \.refuseEvery,
            "--stall-at": \.stallAt, "--stall-seconds": \.stallSeconds,
            "--garbage-at": \.garbageAt, "--huge-headers-every": \.hugeHeadersEvery,
            "--exit-at": \.exitAt,
        ]
    }

    private static var texts: [String: WritableKeyPath<Options, String?>] {
        [
            "--certificate": \.certificate, "--key": \.key, "--public-key": \.publicKey,
            "--key-id": \.keyID, "--team-id": \.teamID, "--topic": \.topic,
        ]
    }

    private mutating func set(_ flag: String, _ value: String) -> Bool {
        let parts = value.split(separator: ":", omittingEmptySubsequences: false)
        switch flag {
        case "--port":
            guard let port = UInt16(value) else { return false }
            self.port = port
        case "--table-size", "--window":
            guard let number = Int(value), number >= 0 else { return false }
            if flag == "--window" { window = number } else { tableSize = number }
        case "--without-alpn": withoutALPN = value == "yes"
        case "--dynamic-headers": dynamicHeaders = value == "yes"
        case "--streams-at":
            guard parts.count == 2, let request = Int(parts[0]), let streams = Int(parts[1])
            else { return false }
            streamsAt.append((request, streams))
        case "--answer":
            guard parts.count >= 2, let every = Int(parts[0]), every > 0,
                let status = Int(parts[1]), (200...999).contains(status)
            else { return false }
            answers.append(
                Injected(
                    every: every, status: status, reason: parts.count > 2 ? String(parts[2]) : "",
                    retryAfter: parts.count > 3 ? Int(parts[3]) : nil))
        default: return false
        }
        return true
    }
}
