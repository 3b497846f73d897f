private import Glibc
import StoreFaults
import WakeStore

/// A process with a store in it, to be killed, starved and lied to by the tests. It reports every
/// step on standard output, one line each, before and after it asks the store.
///
///     store-worker MODE DATA-DIRECTORY KEY-FILE [numbers]
///     store-worker secrets STATE-DIRECTORY ignored DIE-AT
///     store-worker deliver-first STATE-DIRECTORY FEED-KEY FEED SERVICE sync|run PROGRAM...
@main
enum Main {
    static func main() async {
        let arguments = CommandLine.arguments
        guard arguments.count >= 4 else { exit(2) }
        if arguments[1] == "within" { exit(Within.run(Array(arguments[2...]))) }
        if arguments[1] == "deliver-first" {
            exit(await DeliverFirst.run(Array(arguments[2...])))
        }
        var configuration = StoreConfiguration(
            dataDirectory: arguments[2], keyFile: arguments[3])
        configuration.onFatal = {
            Line.write("fatal")
            _exit(1)
        }
        // At once, so that nothing which comes later may help an answer.
        configuration.answerTick = .zero
        if arguments[1] == "secrets" { exit(AddSecrets.run(arguments[2], arguments[4])) }
        let numbers = arguments.dropFirst(4).compactMap { Int($0) }
        if let setting = arguments.first(where: { $0.hasPrefix("slip:") }) {
            // As long as the process.
            unsafe wake_slip(strdup(String(setting.dropFirst(5))))
        }
        switch arguments[1] {
        case "hold": await Hold.run(configuration)
        case "churn": await Churn.run(configuration, seed: numbers[0], tokens: numbers[1])
        case "fill": await Fill.run(configuration, first: numbers[0], count: numbers[1])
        case "fault": await Fault.run(configuration, numbers)
        case "paths": await Paths.run(configuration)
        case "full": await FullDisk.run(configuration, callers: numbers[0])
        case "rotate": await Rotate.run(configuration, dieAt: numbers[0], traceTo: arguments)
        case "spin": await Rotate.spin(configuration, seed: numbers[0], tokens: numbers[1])
        case "mixed":
            await Mixed.run(
                configuration, seed: numbers[0], bursts: numbers[1],
                onFullDisk: numbers.count > 2,
                traceTo: arguments[arguments.count - 1])
        case "forensic":
            let plan = Forensic.Plan(
                operations: numbers[0], rotations: numbers[1], seed: numbers[2])
            await Forensic.run(configuration, plan, record: arguments[arguments.count - 1])
        case "fullrotate": await FullDisk.rotate(configuration)
        case "crowded": await CrowdedDisk.run(configuration, numbers[0])
        case "readonly": await ReadOnlyDisk.run(configuration)
        default: exit(2)
        }
    }

    /// Opens or ends the process with the refusal as its last line.
    static func open(_ configuration: StoreConfiguration) -> Store {
        do throws(StoreOpenError) {
            return try Store(opening: configuration)
        } catch {
            Line.write("refused \(error)")
            exit(1)
        }
    }
}

/// Lines to whoever started this process; each goes out in one write, so a kill tears none.
enum Line {
    static func write(_ text: String) {
        let bytes = Array((text + "\n").utf8)
        _ = unsafe bytes.withUnsafeBytes { unsafe Glibc.write(1, $0.baseAddress, $0.count) }
    }
}

/// Opens the store and holds it until standard input ends.
enum Hold {
    static func run(_ configuration: StoreConfiguration) async {
        let store = Main.open(configuration)
        Line.write("open")
        var byte: UInt8 = 0
        while unsafe read(0, &byte, 1) > 0 {}
        await store.close()
        Line.write("closed")
    }
}
