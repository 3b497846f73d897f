/// The flags of the mock of APNs; see `usage`.
struct Options {
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
    /// While this file exists no more answers leave than the number in it.
    var hold: String?
    var streams = 1000
    /// From which request on how many streams are allowed.
    var streamsAt: [(request: Int, streams: Int)] = []
    var goAwayEvery = 0
    var resetEvery = 0
    var refuseEvery = 0
    /// At every so many requests, an answer of the mock's own.
    var answers: [(every: Int, answer: Answer)] = []
    /// To tokens that begin with these digits, an answer of the mock's own.
    var tokenAnswers: [(digits: [UInt8], answer: Answer)] = []
    var answerAll: Answer?
    var stallAt = 0
    var stallSeconds = 5
    var garbageAt = 0
    var hugeHeadersEvery = 0
    var dynamicHeaders = false
    var tableSize: Int?
    var window: Int?
    var connectionWindow = 1 << 24

    /// Ends with a report after so many distinct tokens.
    var exitAt = 0
    /// Where the report goes, too.
    var report: String?

    /// Whether any proper request may get something else than a plain 200.
    var hasFaults: Bool {
        goAwayEvery + resetEvery + refuseEvery + stallAt + garbageAt + hugeHeadersEvery > 0
            || !answers.isEmpty || !tokenAnswers.isEmpty || answerAll != nil
    }

    static let usage = """
        usage: mock-push [FLAG VALUE]…

        A push service that speaks as APNs does, for tests: it checks every request, goes wrong as
        it is told, and on SIGTERM or SIGINT prints one line of JSON: distinct tokens, duplicates,
        answers, refusals, faults, violations and fields. Plain HTTP/2 on 127.0.0.1 unless given a
        certificate. Example:

          mock-push --port 8443 --certificate chain.pem --key key.pem --latency 50

        Where
          --port N                 0: any free one; the first line says which
          --certificate FILE       PEM chain; with --key FILE, TLS with ALPN h2
          --without-alpn yes       TLS that selects no protocol
        What is checked, besides method, path, push type, priority, expiration and payload
          --public-key FILE        verify provider tokens with this PEM key
          --key-id, --team-id, --topic TEXT   what requests must carry
          --token-age S            older provider tokens are expired (3600)
          --token-interval S       newer ones sooner are 429 TooManyProviderTokenUpdates (0: off)
        Time and limits
          --latency MS             from request to answer, never less
          --hold FILE              while FILE exists, of all answers only as many leave as the
                                   number in it, none without one
          --streams N              concurrent streams (1000)
          --streams-at R:N         from request R on, N concurrent streams; may be repeated
          --window N               SETTINGS_INITIAL_WINDOW_SIZE, opened byte by byte as needed
          --connection-window N    the connection's window is kept at N bytes (16777216), from when
                                   the first 65535 bytes are used up so far
          --table-size N           SETTINGS_HEADER_TABLE_SIZE
        What goes wrong, with proper requests only, the first that fits
          --stall-at N             that connection falls silent for --stall-seconds S (5)
          --garbage-at N           bytes that are no frame, then the end of the connection
          --goaway-every N         GOAWAY at every Nth request; what follows is not looked at
          --refuse-every N         RST_STREAM REFUSED_STREAM, not delivered
          --reset-every N          RST_STREAM after the token was counted as delivered
          --answer-token HEX:STATUS[:REASON[:RETRY-AFTER]]   to tokens that begin so; repeatable
          --answer N:STATUS[:REASON[:RETRY-AFTER]]   at every Nth request; may be repeated
          --answer-all STATUS[:REASON[:RETRY-AFTER]]   to every request
          --huge-headers-every N   30 KiB of fields in HEADERS and CONTINUATION
          --dynamic-headers yes    answers use Huffman strings and the dynamic table
        The end
          --exit-at N              report and end after N distinct tokens
          --report FILE            writes the report to a file, too

        """
}
