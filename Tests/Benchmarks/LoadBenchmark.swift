/// Registrations over HTTP to a service that runs already.
enum LoadBenchmark {
    private static let help = """
        usage: bench load --url URL [--operations 40000] [--connections 64] [--pid N]

        Registers fresh random tokens over keep-alive connections, one at a time on each.
        URL is http://127.0.0.1:PORT or unix:PATH; --pid names the service for its CPU time.
        """

    static func run(_ arguments: [String]) async -> Int32 {
        let options = Options(arguments, known: ["url", "operations", "connections", "pid"])
        guard options.unknown == nil, let address = options["url"].flatMap(ServiceAddress.init)
        else {
            print(help)
            return options.unknown == "--help" ? 0 : 2
        }
        do {
            let measurement = try HTTPLoad.run(
                address, connections: options.number("connections", default: 64),
                operations: options.number("operations", default: 40_000),
                process: options["pid"].flatMap { Int($0) })
            print(measurement.line)
            return measurement.failures == 0 ? 0 : 1
        } catch {
            print("bench: \(error)")
            return 1
        }
    }
}
