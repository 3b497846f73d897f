import Foundation

// example-embedding FEED KEY SERVICE DIRECTORY

let words = CommandLine.arguments
guard words.count == 5 else {
    FileHandle.standardError.write(
        Data("usage: example-embedding FEED KEY SERVICE DIRECTORY\n".utf8))
    exit(2)
}
try await watch(feed: words[1], key: words[2], service: words[3], in: words[4])
