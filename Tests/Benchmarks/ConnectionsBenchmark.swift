private import Glibc
import TestSupport

/// What the service's memory grows by with every connection that is only held open, and how it
/// answers registrations meanwhile.
enum ConnectionsBenchmark {
    private static let help = """
        usage: bench connections --service COMMAND [--connections 10000] [--streams]
                                 [--operations 2000] [--clients 16] [--directory DIR]

        Registers that many tokens, opens the connections, asks once on each, and registers as
        many tokens again while they are held open. The service ends an idle connection after
        20 s: the last line tells how many were open to the end.

        --streams          they are event streams
        --clients N        connections that register, one token at a time on each
        --service COMMAND  a shell command that starts the service with `exec`; it finds a
                           directory in $BENCH_DIRECTORY and listens on
                           $BENCH_DIRECTORY/public.sock
        """

    private enum Failure: Error {
        case openFiles(allowed: Int, needed: Int)
        case noStatus
    }

    static func run(_ arguments: [String]) -> Int32 {
        let options = Options(
            arguments,
            known: ["service", "connections", "operations", "clients", "directory"],
            flags: ["streams"])
        guard options.unknown == nil, let command = options["service"] else {
            print(help)
            return options.unknown == "--help" ? 0 : 2
        }
        do {
            try measure(options, command)
            return 0
        } catch {
            print("bench: \(error)")
            return 1
        }
    }

    private static func measure(_ options: Options, _ command: String) throws {
        let count = options.number("connections", default: 10_000)
        let clients = options.number("clients", default: 16)
        // Both ends need one each, and the service inherits the limit.
        let needed = count + clients + 256
        let allowed = ProcessMemory.raiseOpenFiles(to: needed)
        guard allowed >= needed else {
            throw Failure.openFiles(allowed: allowed, needed: needed)
        }
        let place = StorePlace(in: options["directory"] ?? "/var/tmp")
        guard let service = ServiceProcess(command: command, directory: place.path) else {
            throw HTTPLoad.Failure.notListening
        }
        defer { service.stop() }
        let load = Load(
            service: service, clients: clients,
            operations: options.number("operations", default: 2000))
        // First without the others: the allocator, the database's cache and the code are then in
        // memory, and what they take is not counted as the connections'.
        print("alone")
        try load.run()
        let before = try status(of: service)
        print(describe(before))

        let watch = Stopwatch()
        let idle = try IdleConnections(count, to: service.address)
        try load.roundTrip()
        let opened = try status(of: service)
        report("\(count) connections, just opened", before, opened, count)
        let isStreaming = options.isSet("streams")
        try idle.ask(isStreaming ? .stream : .policy)
        let asked = try status(of: service)
        report(
            isStreaming ? "\(count) event streams" : "\(count) connections, idle after an answer",
            before, asked, count)
        print("meanwhile")
        try load.run()
        print(describe(try status(of: service)))
        print("  \(idle.stillOpen()) of \(count) open to the end, \(tenths(watch.seconds)) s")
        let most = max(opened.anonymous, asked.anonymous) - before.anonymous
        print("at most 1 KiB each: \(most <= count * 1024 ? "met" : "not met")")
    }

    private static func status(of service: ServiceProcess) throws -> ProcessStatus {
        guard let status = ProcessStatus(of: Int(service.process)) else { throw Failure.noStatus }
        return status
    }

    private static func describe(_ status: ProcessStatus) -> String {
        "  resident \(status.resident / 1024) KiB, anonymous \(status.anonymous / 1024) KiB"
    }

    private static func report(
        _ title: String, _ before: ProcessStatus, _ after: ProcessStatus, _ count: Int
    ) {
        print(title)
        print(describe(after))
        let anonymous = Double(after.anonymous - before.anonymous) / Double(max(count, 1))
        let resident = Double(after.resident - before.resident) / Double(max(count, 1))
        print(
            "  \(Int(anonymous.rounded())) bytes of anonymous memory each, "
                + "\(Int(resident.rounded())) resident")
        // Line by line also where the output is no terminal.
        fflush(nil)
    }
}

/// Registrations, on connections of their own.
private struct Load {
    let service: ServiceProcess
    let clients: Int
    let operations: Int

    func run() throws {
        let measurement = try HTTPLoad.run(
            service.address, connections: clients, operations: operations,
            process: Int(service.process))
        print("  registrations: \(measurement.line)")
    }

    /// Connections are accepted in the order they came: with this one answered, all earlier ones
    /// are in the service's hands.
    func roundTrip() throws {
        _ = try HTTPLoad.run(
            service.address, connections: 1, operations: 1, process: Int(service.process))
    }
}
