// swift-tools-version: 6.3
import PackageDescription

/// The rules of a module whose protocols any actor fulfils; see `MatchHandling`.
let unisolated: [SwiftSetting] = [
    .swiftLanguageMode(.v6),
    .strictMemorySafety(),
    .treatAllWarnings(as: .error),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .enableUpcomingFeature("InternalImportsByDefault"),
]

/// One set of compiler rules for every other target; see "Modules" in Policy/ARCHITECTURE.md.
let strict = unisolated + [.enableUpcomingFeature("NonisolatedNonsendingByDefault")]

/// For `Tests/check`: the tests, which are not optimised themselves, test modules that are, as what
/// ships is, and take less time. With threads the compiler writes an object for each file also of a
/// whole module, as the package manager expects it in a debug build.
let optimized: [SwiftSetting] =
    Context.environment["REVEILLE_OPTIMIZED"] == nil
    ? []
    : [
        .unsafeFlags(
            ["-O", "-disable-batch-mode", "-whole-module-optimization", "-num-threads", "2"],
            .when(configuration: .debug))
    ]

/// The same for what tests have of C.
let optimizedC: [CSetting] =
    Context.environment["REVEILLE_OPTIMIZED"] == nil
    ? [] : [.unsafeFlags(["-O2"], .when(configuration: .debug))]

/// Linked to the programs that tests start thousands of times: with Swift's runtime inside, as they
/// ship, a start takes half the time.
let started: [LinkerSetting] =
    Context.environment["REVEILLE_OPTIMIZED"] == nil
    ? []
    : [
        .unsafeFlags(
            ["-static-stdlib", "-Xlinker", "-l_FoundationCollections"]
                + ["-Xlinker", "-l_FoundationCShims"], .when(configuration: .debug))
    ]

func library(
    _ name: String, _ dependencies: [Target.Dependency], settings: [SwiftSetting] = []
) -> Target {
    .target(name: name, dependencies: dependencies, swiftSettings: strict + settings + optimized)
}

/// - Parameter settings: also ``optimized`` where the tests themselves compute for long.
func tests(
    _ name: String, _ dependencies: [Target.Dependency], resources: [Resource] = [],
    settings: [SwiftSetting] = []
) -> Target {
    .testTarget(
        name: name, dependencies: dependencies + ["TestSupport", "WakeSystem"],
        path: "Tests/\(name)",
        resources: resources, swiftSettings: strict + settings)
}

func example(_ name: String, _ folder: String, pages: [String] = []) -> Target {
    .executableTarget(
        name: name, dependencies: ["Reveille"], path: "Tests/Examples/\(folder)", exclude: pages,
        swiftSettings: appRules)
}

/// Apps have none of our rules.
let appRules: [SwiftSetting] = [.swiftLanguageMode(.v6), .treatAllWarnings(as: .error)]

/// What the app for phones names of a module of Apple's, in Apple's form; it does nothing.
func standIn(_ name: String) -> Target {
    .target(name: name, path: "Tests/Examples/Phone/StandIns/\(name)", swiftSettings: appRules)
}

/// What must hold of any bytes: tests, or for `Tests/Fuzz` a program with libFuzzer.
let properties: [Target.Dependency] = [
    "WakeHTTP", "WakePush", "WakeFetch", "WakeFeed", "WakePublish", "WakeAudit", "WakeStore",
    "WakeServer", "WakeUnifiedPush", "WakeModel", "WakeSystem", "TestSupport",
]
let fuzzing: Target =
    Context.environment["REVEILLE_LIBFUZZER"] == nil
    ? .testTarget(
        name: "FuzzTests", dependencies: properties, path: "Tests/Fuzzing",
        exclude: ["Guided.swift", "Corpora"], swiftSettings: strict + optimized)
    : .executableTarget(
        name: "fuzz", dependencies: properties, path: "Tests/Fuzzing",
        exclude: ["FuzzTests.swift", "Mutator.swift", "Corpora"], swiftSettings: strict)

/// What `--version` says beside the version, set by `Deploy/build`: the hexadecimal digits of the
/// commit, and whether the sources had changes beside it.
let commit: [CSetting] =
    Context.environment["REVEILLE_COMMIT"].map { digits in
        [.define("REVEILLE_COMMIT", to: digits)]
            + (Context.environment["REVEILLE_CHANGED"] == nil ? [] : [.define("REVEILLE_CHANGED")])
    } ?? []

/// libreveille: Swift is inside and invisible, for programs that have none of it, and it stays
/// loaded, because its threads do. Options of the linker's own are "unsafe" to the package manager,
/// which then lets no other package depend on this product; `Reveille` is the one for those.
let shared =
    ["-static-stdlib", "-use-ld=lld", "-l_FoundationCollections", "-l_FoundationCShims"]
    + [
        "--version-script=\(Context.packageDirectory)/Sources/WakeClientC/exports.map",
        "-soname=libreveille.so.0", "-z", "nodelete", "-z", "defs",
        // FoundationEssentials does not name what it is made of to the linker.
        "-l_FoundationCollections", "-l_FoundationCShims",
    ].flatMap { ["-Xlinker", $0] }

let package = Package(
    name: "reveille",
    platforms: [.iOS(.v15), .macOS(.v12)],
    products: [
        .executable(name: "reveille", targets: ["reveille-service"]),
        .executable(name: "reveille-client", targets: ["reveille-client"]),
        .library(name: "Reveille", targets: ["Reveille"]),
        .library(name: "ReveilleTesting", targets: ["ReveilleTesting"]),
        .library(name: "ReveillePhone", targets: ["ReveillePhone"]),
        .library(name: "WakeUnifiedPush", targets: ["WakeUnifiedPush"]),
        .library(name: "WakeFeed", targets: ["WakeFeed"]),
        // Built as liblibreveille.so; Deploy/install gives it its name.
        .library(name: "libreveille", type: .dynamic, targets: ["WakeClientC"]),
    ],
    targets: [
        // C: what Swift cannot reach by itself.
        .systemLibrary(
            name: "CSodium", pkgConfig: "libsodium", providers: [.apt(["libsodium-dev"])]),
        .systemLibrary(
            name: "CSQLite", pkgConfig: "sqlite3", providers: [.apt(["libsqlite3-dev"])]),
        .target(name: "CLinux", cSettings: commit),
        .target(name: "CRuntime", linkerSettings: [.linkedLibrary("dl")]),
        // Overwrites freed memory: for a whole process, so never part of a library.
        .target(name: "CMemory"),
        // Where libsodium comes in, if anything that is linked depends on the second of them.
        .target(name: "CCrypto"),
        .target(name: "CCryptoSodium", dependencies: ["CCrypto", "CSodium"]),

        // The reader of a feed, also for iOS 15 and macOS 12: Swift alone, without any C library.
        library(
            "WakeBytes", ["CCrypto"], settings: [.enableExperimentalFeature("Lifetimes")]),
        library("WakeCrypto", ["CCrypto", "WakeBytes"]),
        library("WakeFeed", ["WakeCrypto", "WakeBytes"]),

        // Ground: words, and thin Swift faces of the C libraries.
        library("WakeSystem", ["WakeBytes", "CSQLite", "CLinux"]),
        library("WakeModel", ["WakeCrypto", "CCryptoSodium", "CSodium", "WakeSystem", "CLinux"]),
        library("WakeCommand", ["WakeSystem", "WakeModel", "CLinux"]),

        // Parts: each knows one thing and none of its neighbours.
        library("WakeHTTP", ["WakeModel", "WakeSystem", "CLinux"]),
        library("WakeStore", ["WakeModel", "WakeSystem"]),
        library("WakeFetch", ["WakeModel", "WakeSystem", "CRuntime"]),
        library("WakePublish", ["WakeFeed", "WakeModel", "WakeSystem"]),

        library("WakeAudit", ["WakeModel", "WakeSystem"]),
        library(
            "WakePush",
            ["WakeModel", "WakeFetch", "WakeSystem", "CRuntime", "CLinux"]),

        // Wholes.
        .target(
            name: "WakeServer",
            dependencies: [
                "WakeModel", "WakeHTTP", "WakeStore", "WakePush", "WakeFetch", "WakeFeed",
                "WakePublish", "WakeSystem", "CLinux",
            ],
            // A link to Policy/privacy.json: the policy in force is part of the program.
            resources: [
                .embedInCode("Resources/privacy.json"), .embedInCode("Resources/page.json"),
            ],
            swiftSettings: strict),
        .target(name: "ReveilleHandlers", swiftSettings: unisolated),
        library(
            "Reveille",
            ["ReveilleHandlers", "WakeModel", "WakeFeed", "WakeFetch", "WakeSystem"]),
        library(
            "ReveilleTesting",
            ["Reveille", "WakeFeed", "WakePublish", "WakeFetch", "WakeModel", "WakeSystem"]),
        library(
            "WakeUnifiedPush", ["Reveille", "WakeModel", "WakeSystem", "CLinux"]),
        library("ReveillePhone", ["WakeFeed", "WakeCrypto", "WakeBytes"]),
        .systemLibrary(name: "CReveille"),
        .target(
            name: "WakeClientC",
            dependencies: [
                "CReveille", "Reveille", "WakeUnifiedPush", "WakeFeed", "WakeModel", "WakeSystem",
                "CLinux",
            ],
            exclude: ["exports.map"], swiftSettings: strict,
            linkerSettings: [.unsafeFlags(shared)]),
        .executableTarget(
            name: "reveille-service",
            dependencies: [
                "WakeServer", "WakePush", "WakeHTTP", "WakeStore", "WakeFeed", "WakePublish",
                "WakeFetch", "WakeAudit", "WakeCommand", "WakeModel", "WakeSystem", "CLinux",
                "CMemory",
            ],
            swiftSettings: strict, linkerSettings: started),
        .executableTarget(
            name: "reveille-client",
            dependencies: [
                "Reveille", "WakeCommand", "WakeModel", "WakeSystem", "WakeFeed", "WakePublish",
                "WakeUnifiedPush",
            ],
            swiftSettings: strict, linkerSettings: started),

        // Tests.
        // Linked to the tests, for ThreadSanitizer alone.
        .target(name: "MutexOrder", path: "Tests/ThreadSanitizer"),
        .target(
            name: "TestSupport",
            dependencies: ["CLinux", "WakeSystem", "WakeModel", "MutexOrder"],
            path: "Tests/Support",
            swiftSettings: strict + optimized),
        .target(name: "StoreFaults", path: "Tests/StoreFaults", cSettings: optimizedC),
        .executableTarget(
            name: "store-worker",
            dependencies: [
                "WakeStore", "Reveille", "WakeFetch", "WakeCommand", "WakeModel", "WakeSystem",
                "StoreFaults", "MutexOrder",
            ],
            path: "Tests/StoreWorker", swiftSettings: strict, linkerSettings: started),
        tests("WakeSystemTests", ["CLinux"]),
        tests("WakeCryptoTests", ["WakeCrypto", "WakeModel", "CCrypto"]),
        tests("WakeModelTests", ["WakeModel"]),
        tests("WakeCommandTests", ["WakeCommand"]),
        tests("WakeHTTPTests", ["WakeHTTP", "CLinux"]),
        tests(
            "WakeStoreTests",
            ["WakeStore", "WakeModel"]),
        tests(
            "WakeAuditTests",
            ["WakeAudit", "WakeStore", "WakeModel"]),
        tests(
            "WakeUnifiedPushTests",
            ["WakeUnifiedPush", "Reveille", "WakeModel", "WakeFeed", "CLinux"]),

        tests("WakeFetchTests", ["WakeFetch", "WakeModel", "CRuntime"]),
        tests(
            "WakePushTests",
            ["WakePush", "WakeFetch", "WakeModel", "CRuntime", "CLinux"]),

        .executableTarget(
            name: "mock-push",
            dependencies: ["WakePush", "WakeModel", "WakeSystem", "CRuntime", "CLinux"],
            path: "Tests/MockPush", swiftSettings: strict, linkerSettings: started),
        fuzzing,
        tests(
            "WakeFeedTests", ["WakeFeed", "WakePublish", "WakeModel"],
            resources: [.copy("Vectors")]),
        tests(
            "WakeClientTests",
            [
                "Reveille", "ReveilleTesting", "WakeFeed", "WakePublish", "WakeFetch", "WakeModel",
                "CSQLite", "WakeServer", "WakePush",
            ]),
        tests(
            "WakeServerTests",
            [
                "WakeServer", "WakeFeed", "WakePublish", "WakeHTTP", "WakeModel", "WakePush",
                "WakeFetch", "WakeStore",
            ]),
        tests(
            "EndToEndTests",
            ["WakeModel", "WakeFeed", "WakePublish", "ReveillePhone"]),
        tests(
            "PrivacyTests",
            ["WakeModel", "WakeServer", "WakeStore", "WakePush", "WakeAudit"],
            settings: optimized),
        // The reader as apps on phones link it: no test of it may bring in libsodium.
        .executableTarget(
            name: "phone-feed", dependencies: ["WakeFeed", "WakeCrypto", "WakeBytes"],
            path: "Tests/PhoneFeed", exclude: ["ios15.py"], swiftSettings: strict + optimized),
        // What README and the documentation show, built as apps are: with none of our rules.
        example("example-embedding", "Embedding"),
        example("example-watch", "Watch"),
        example("example-recalls", "PlainFiles", pages: ["README.md"]),
        example("example-messenger", "Messenger", pages: ["README.md"]),
        example("example-desktop", "Desktop"),
        // An app for phones, with stand-ins for what Apple's SDK has.
        standIn("UIKit"), standIn("BackgroundTasks"), standIn("UserNotifications"),
        .executableTarget(
            name: "example-phone",
            dependencies: ["ReveillePhone", "UIKit", "BackgroundTasks", "UserNotifications"],
            path: "Tests/Examples/Phone", exclude: ["README.md", "StandIns"],
            swiftSettings: appRules),
        .executableTarget(
            name: "phone-worker", dependencies: ["ReveillePhone"], path: "Tests/PhoneWorker",
            swiftSettings: strict),
        tests("ExampleTests", ["Reveille"]),
        tests("TidyTests", [], settings: optimized),
        .executableTarget(
            name: "bench",
            dependencies: [
                "WakeServer", "WakeStore", "WakeHTTP", "WakeModel", "WakeFeed", "WakePublish",
                "WakeFetch", "WakeSystem", "WakePush", "Reveille", "CRuntime", "CLinux",
                "TestSupport",
            ],
            path: "Tests/Benchmarks",
            exclude: ["SlowFlush", "Peers/aioapns-peer.py", "Peers/fastapi-peer.py"],
            swiftSettings: strict),
        .executableTarget(
            name: "hot-paths",
            dependencies: [
                "WakeServer", "WakeStore", "WakeHTTP", "WakePush", "WakeFeed", "WakePublish",
                "WakeFetch", "WakeModel", "WakeSystem",
            ],
            path: "Tests/HotPaths", exclude: ["instructions.py", "instructions.json"],
            swiftSettings: strict),
    ]
)
