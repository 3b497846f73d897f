import WakeCommand
import WakeModel
import WakeServer
import WakeSystem

/// The shards of `reveille status --shard`, which are asked one after the other.
struct ShardStatus {
    private let shards: [AdminClient]

    private static let timeLimit: UInt32 = 5000

    /// - Returns: nil where the command names no shards.
    init?(_ invocation: Invocation) throws(CommandFailure) {
        let urls = invocation.all("--shard")
        let tokens = invocation.all("--token")
        guard !urls.isEmpty else {
            if tokens.isEmpty { return nil }
            throw .usage("--token is for --shard; otherwise the configuration names the file")
        }
        if invocation.flag("--config") {
            throw .usage("--shard is instead of the configuration's service: leave out --config")
        }
        var addresses: [Configuration.Address] = []
        for url in urls { addresses.append(try Self.address(url)) }
        let onTCP = addresses.count { if case .tcp = $0 { true } else { false } }
        guard tokens.count <= 1 || tokens.count == onTCP else {
            throw .usage("--token is given once, or once for each of the shards on TCP")
        }
        var next = tokens[...]
        var shards: [AdminClient] = []
        for address in addresses {
            var token: String?
            if case .tcp = address { token = tokens.count == 1 ? tokens[0] : next.popFirst() }
            shards.append(
                AdminClient(
                    address, tokenFile: try token.map(Environment.absolute),
                    timeLimit: Self.timeLimit))
        }
        self.shards = shards
    }

    private static func address(_ url: String) throws(CommandFailure) -> Configuration.Address {
        let isTCP = url.hasPrefix("http://")
        var text = isTCP ? String(url.dropFirst(7)) : url
        if isTCP, text.hasSuffix("/") { text.removeLast() }
        guard isTCP || url.hasPrefix("unix:"),
            let address = ConfigurationParser.address(text, try Environment.absolute("."))
        else {
            throw .usage("--shard takes unix:PATH or http://127.0.0.1:PORT, not \(url)")
        }
        guard address.isLocal else {
            throw .usage(
                "--shard \(url) would send the token in clear over a network",
                hint: "bring the listener here with ssh -L, and name it http://127.0.0.1:PORT")
        }
        return address
    }

    func ask() throws(CommandFailure) -> Sums {
        var answers: [Result<ServiceNumbers, CommandFailure>] = []
        for shard in shards {
            do throws(CommandFailure) {
                answers.append(.success(try ServiceNumbers(try shard.get("/v1/status"))))
            } catch { answers.append(.failure(error)) }
        }
        return Sums(answers)
    }

    /// What the shards answered, and the same added up.
    struct Sums {
        private let answers: [Result<ServiceNumbers, CommandFailure>]
        private let total: ServiceNumbers
        private let answering: Int

        fileprivate init(_ answers: [Result<ServiceNumbers, CommandFailure>]) {
            self.answers = answers
            let numbers = answers.compactMap { try? $0.get() }
            total = ServiceNumbers(adding: numbers)
            answering = numbers.count
        }

        /// `transient` when one of them did not answer.
        var status: ExitStatus { answering == answers.count ? .success : .transient }

        /// - Parameter all: every number by its name, instead of a screen.
        func lines(all: Bool) -> [String] {
            let shards = "\(answering) of \(answers.count) answer"
            guard answering > 0 else { return ["shards  " + shards] + problems }
            if all { return total.lines + problems }
            let screen = StatusScreen(total, nil)
            let health = isWell ? screen.health : "see below, up " + upTime
            let rows = [("shards", shards), ("health", health)] + screen.rows
            return Console.columns(rows) + each + problems
        }

        private var isWell: Bool { answering == answers.count && total.troubles.isEmpty }

        private var upTime: String { NumberFormat.clock(total["uptime_seconds"] ?? 0) }

        /// A line for each shard that answers.
        private var each: [String] {
            answers.enumerated().compactMap { index, answer in
                guard let numbers = try? answer.get() else { return nil }
                func number(_ name: String) -> Int { numbers[name] ?? 0 }
                let rows = number("registrations_current") + number("registrations_previous")
                let next = number("next_broadcast_seconds")
                let start = next < 0 ? "not planned" : "in \(NumberFormat.clock(next))"
                return "shard \(index + 1): \(rows) registrations, \(number("streams")) streams, "
                    + "\(number("pushes_accepted")) pushes accepted, the next broadcast \(start)"
            }
        }

        /// What is wrong, by the number of the shard.
        private var problems: [String] {
            answers.enumerated().flatMap { index, answer in
                switch answer {
                case .success(let numbers):
                    return numbers.troubles.map {
                        "shard \(index + 1): problem: \($0.rawValue): \($0.message)"
                    }
                case .failure(let failure):
                    let hint = failure.hint.map { "; " + $0 } ?? ""
                    return ["shard \(index + 1): does not answer: \(failure.message)\(hint)"]
                }
            }
        }

        var json: [UInt8] {
            let shards = answers.enumerated().map { index, answer in
                switch answer {
                case .success(let numbers):
                    Shard(shard: index + 1, answers: true, status: numbers.members)
                case .failure(let failure):
                    Shard(shard: index + 1, answers: false, problem: failure.message)
                }
            }
            return AdminJSON.encode(
                Report(
                    shards: shards.count, answering: answering, total: total.members, each: shards))
                + [0x0A]
        }

        private struct Report: Encodable {
            let shards: Int
            let answering: Int
            let total: [String: Int]
            let each: [Shard]
        }

        private struct Shard: Encodable {
            let shard: Int
            let answers: Bool
            var status: [String: Int]?
            var problem: String?
        }
    }
}
