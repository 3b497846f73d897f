/// The only files that may say `unsafe`: thin faces of C, each reviewed as such. Everything above
/// them is memory-safe by construction.
enum UnsafeFiles {
    static let list = [
        "Sources/WakeCommand/Console.swift",
        "Sources/WakeFiles/FileError.swift",
        "Sources/WakeFiles/FileStatus.swift",
        "Sources/WakeFiles/Files.swift",
        "Sources/WakeFiles/OpenFile.swift",
        "Sources/WakeModel/PushService.swift",
        "Sources/WakeModel/SecretBytes.swift",
        "Sources/WakeSQLite/Database.swift",
        "Sources/WakeSQLite/Statement.swift",
        "Sources/WakeServer/Log.swift",
        "Sources/WakeSodium/Blake2b.swift",
        "Sources/WakeSodium/KeyMemory.swift",
        "Sources/WakeSodium/Pointers.swift",
        "Sources/WakeSodium/SealedBox.swift",
        "Sources/WakeSodium/SecretBox.swift",
        "Sources/WakeSodium/Signing.swift",
        "Sources/WakeSodium/Sodium.swift",
    ]
}
