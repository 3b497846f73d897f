import WakeCommand
import WakeFetch
import WakeHTTP
import WakeServer
import WakeSystem

/// `reveille relay serve-oblivious`: a relay of Oblivious HTTP, which anyone can run for a gateway
/// of somebody else.
enum ObliviousRelayCommand {
    static let command = Command(
        "relay serve-oblivious",
        "forward encapsulated requests to a gateway, hiding whose they are",
        options: [
            .init(
                "--gateway", value: "URL", "where the requests go, such as the path /v1/oblivious"),
            .init("--listen", value: "ADDRESS", "HOST:PORT or unix:PATH; TLS is a front's"),
            .init("--proxy-protocol", "the front speaks PROXY protocol v2"),
            .init(
                "--per-minute", value: "NUMBER",
                "requests of one network (/24, /56), where it shows (default: 60)"),
        ],
        examples: [
            "reveille relay serve-oblivious --gateway https://wake.example.org/v1/oblivious "
                + "--listen unix:/run/reveille-oblivious/http.sock --proxy-protocol"
        ],
        notes: """
            It stores nothing and logs nothing. Run it apart from the gateway, by another \
            operator: who has both knows whose requests they are.
            """,
        run: { (invocation) async throws(CommandFailure) in try await run(invocation) })

    private static func run(_ invocation: Invocation) async throws(CommandFailure) -> ExitStatus {
        let relay: ObliviousRelay
        do {
            relay = try ObliviousRelay(settings(invocation))
        } catch let error as CommandFailure {
            throw error
        } catch { throw failure(error) }
        await TerminationSignal.cancels {
            ServiceManager.notify(.ready)
            Console().out("listening" + (relay.port > 0 ? " on port \(relay.port)" : ""))
            await withTaskCancellationHandler {
                await relay.run()
            } onCancel: {
                ServiceManager.notify(.stopping)
            }
        }
        return .success
    }

    private static func settings(
        _ invocation: Invocation
    ) throws(CommandFailure) -> ObliviousRelay.Settings {
        let text = try invocation.required("--gateway")
        guard let gateway = try? FetchURL(Array(text.utf8)) else {
            throw .usage("--gateway takes an https URL; http leads to this machine alone")
        }
        let address = try invocation.required("--listen")
        guard let listen = ConfigurationParser.address(address, try Environment.absolute("."))
        else { throw .usage("--listen takes HOST:PORT or unix:PATH") }
        var settings = ObliviousRelay.Settings(listen: listen, gateway: gateway)
        settings.proxyProtocol = invocation.flag("--proxy-protocol")
        if let number = try invocation.integer("--per-minute", in: 1...1_000_000) {
            settings.perMinute = number
        }
        return settings
    }

    private static func failure(_ error: any Error) -> CommandFailure {
        switch error as? ObliviousRelayError {
        case .libraryMissing?:
            CommandFailure(
                "cannot load libcurl.so.4",
                hint: "install the package libcurl4: apt-get install libcurl4",
                status: .configuration)
        case .http(let error)?: CommandFailure(error) { _ in "the address of --listen" }
        case nil: CommandFailure("the relay cannot be started")
        }
    }
}
