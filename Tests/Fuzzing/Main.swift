import Glibc

/// `fuzz PROPERTY --runs N --seed S` tries N mutations of the seeds; the same each time.
/// `fuzz PROPERTY --write FOLDER` writes the seeds as files. Built with `-D LIBFUZZER` it is
/// libFuzzer, which lets coverage choose; see `Tests/Fuzz`.
@main
enum Main {
    static func main() {
        var arguments = CommandLine.arguments.dropFirst()
        guard let name = arguments.popFirst(), let property = Property(rawValue: name) else {
            usage()
        }
        #if LIBFUZZER
            exit(Guided.run(property, [name] + arguments))
        #else
            if arguments.first == "--write", let folder = arguments.dropFirst().first {
                return write(property, folder)
            }
            var numbers = ["--runs": UInt64(10_000), "--seed": 1]
            while let flag = arguments.popFirst() {
                guard numbers[flag] != nil, let value = arguments.popFirst().flatMap(UInt64.init)
                else { usage() }
                numbers[flag] = value
            }
            run(property, runs: numbers["--runs"] ?? 0, seed: numbers["--seed"] ?? 0)
        #endif
    }

    private static func usage() -> Never {
        say(
            "usage: fuzz frames|headers|connection|pages|bus [--runs N] [--seed S] [--write FOLDER]"
        )
        exit(2)
    }

    private static func run(_ property: Property, runs: UInt64, seed: UInt64) {
        for input in Seeds.of(property) { check(property, input) }
        var mutator = Mutator(property, seed: seed)
        for _ in 0..<runs { check(property, mutator.next()) }
        say("\(property.rawValue): \(runs) runs from seed \(seed), no violation")
    }

    private static func write(_ property: Property, _ folder: String) {
        for (index, seed) in Seeds.of(property).enumerated() {
            guard let file = unsafe fopen("\(folder)/seed-\(index)", "w") else { usage() }
            _ = unsafe seed.withUnsafeBytes { unsafe fwrite($0.baseAddress, 1, $0.count, file) }
            unsafe fclose(file)
        }
    }

    private static func check(_ property: Property, _ input: [UInt8]) {
        guard let violation = property.violation(input) else { return }
        say("\(property.rawValue): \(violation)\ninput: \(input)")
        exit(1)
    }

    private static func say(_ text: String) { unsafe puts(text) }
}
