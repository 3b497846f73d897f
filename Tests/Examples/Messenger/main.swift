import Foundation

// example-messenger ACCOUNTS DIRECTORY
//
// ACCOUNTS is a JSON array of accounts, see Account.swift. All run in this process, each with a
// client of its own; state is kept in DIRECTORY.

func say(_ line: String) { FileHandle.standardOutput.write(Data((line + "\n").utf8)) }

guard CommandLine.arguments.count == 3 else {
    FileHandle.standardError.write(Data("usage: example-messenger ACCOUNTS DIRECTORY\n".utf8))
    exit(2)
}
let file = URL(filePath: CommandLine.arguments[1])
let accounts = try JSONDecoder().decode([Account].self, from: try Data(contentsOf: file))
let directory = CommandLine.arguments[2]
try await withThrowingTaskGroup(of: Void.self) { group in
    for account in accounts { group.addTask { try await account.watch(in: directory) } }
    // Of an account that cannot be watched the others do not know: an app would show it.
    try await group.waitForAll()
}
