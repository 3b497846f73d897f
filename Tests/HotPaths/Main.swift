private import Glibc

/// The paths that every registration, push and check takes, each a number of times with inputs that
/// are the same in every run, for a tool that counts instructions.
///
/// Before and after each path the program calls getppid(2), which nothing else in it does, and in
/// the end it prints the paths in that order, with how often each was taken:
/// `Tests/HotPaths/instructions.py` has valgrind count between the calls. Everything runs once
/// before it is counted, so that what is made at a first use is not.
///
///     hot-paths DIRECTORY [PATH…]
@main
enum Main {
    static func main() async {
        let arguments = CommandLine.arguments
        guard arguments.count > 1 else {
            print("usage: hot-paths DIRECTORY [PATH…]")
            exit(2)
        }
        let wanted = Set(arguments.dropFirst(2))
        do {
            for path in try await all(in: arguments[1])
            where wanted.isEmpty || wanted.contains(path.name) {
                try path.run()
                mark()
                try path.run()
                mark()
                print("\(path.name) \(path.count)")
            }
            fflush(nil)
            // Without the end of threads that still serve.
            _exit(0)
        } catch {
            print("failed: \(error)")
            exit(1)
        }
    }

    private static func all(in directory: String) async throws -> [HotPath] {
        try RegistrationPaths.all + [HTTPPath.make()] + PushPaths.all
            + FeedPaths.all(in: directory) + ObliviousPaths.all
    }

    @inline(never)
    private static func mark() { _ = getppid() }
}

/// Work that is counted.
struct HotPath {
    let name: String
    /// Operations of one run.
    let count: Int
    let run: () throws -> Void
}

/// A result that is not what it must be: then the count means nothing.
struct WrongResult: Error {}
