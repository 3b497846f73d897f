import Foundation
import TestSupport

/// A name server on an address of this machine that knows nobody and remembers who was asked for,
/// and programs that ask it and no other.
final class NameServer: Sendable {
    private let asked = Observed<[String]>([])
    private let descriptor: Int32
    private let directory: TemporaryDirectory
    /// Of 127.0.0.0/8, so that no other name server is in the way.
    private let address: String

    /// nil without the right to serve port 53, which resolv.conf(5) cannot change, or to mount.
    init?() throws {
        let host: UInt32 = .random(in: 0x7F01_0001...0x7FFF_FFFE)
        let parts: [UInt32] = [host >> 24, host >> 16 & 255, host >> 8 & 255, host & 255]
        address = parts.map { "\($0)" }.joined(separator: ".")
        directory = try TemporaryDirectory()
        descriptor = socket(AF_INET, Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        var place = sockaddr_in()
        place.sin_family = sa_family_t(AF_INET)
        place.sin_port = UInt16(53).bigEndian
        place.sin_addr.s_addr = host.bigEndian
        let size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let bound = unsafe withUnsafePointer(to: &place) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                unsafe bind(descriptor, $0, size)
            }
        }
        try "nameserver \(address)\noptions timeout:1 attempts:1\n".write(
            toFile: directory.path + "/resolv.conf", atomically: true, encoding: .utf8)
        guard bound == 0, Mounts.arePossible else {
            close(descriptor)
            return nil
        }
        Thread.detachNewThread { [descriptor, asked] in Self.serve(descriptor, asked) }
    }

    deinit {
        // Its thread closes it.
        shutdown(descriptor, Int32(SHUT_RDWR))
    }

    /// The names, in the order they were asked for, each as often as it was.
    var questions: [String] { asked.value }

    /// Waits until a name was asked for: its answer may be overdue before the question is read.
    func wait(for name: String) async throws {
        try await asked.first { $0.contains(name) ? () : nil }
    }

    /// Runs the client to its end, with this name server for its only one.
    func run(_ words: [String]) async throws -> (status: Int32, output: String) {
        let script = "mount --bind \"$1\" /etc/resolv.conf && shift && exec \"$@\""
        return try await Mounts.run(
            script, [directory.path + "/resolv.conf", Mounts.client] + words)
    }

    private static func serve(_ descriptor: Int32, _ asked: Observed<[String]>) {
        var buffer = [UInt8](repeating: 0, count: 1500)
        var peer = sockaddr_storage()
        while true {
            var size = socklen_t(MemoryLayout<sockaddr_storage>.size)
            let count = unsafe withUnsafeMutablePointer(to: &peer) { pointer in
                unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    unsafe recvfrom(descriptor, &buffer, buffer.count, 0, $0, &size)
                }
            }
            guard count > 12 else { break }
            var message = Array(buffer[..<count])
            asked.update { $0.append(name(in: message)) }
            // RFC 1035 §4.1.1: an answer without records, NXDOMAIN.
            message[2] |= 0x80
            message[3] = 0x83
            _ = unsafe withUnsafePointer(to: &peer) { pointer in
                unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    unsafe sendto(descriptor, message, message.count, 0, $0, size)
                }
            }
        }
        close(descriptor)
    }

    /// RFC 1035 §4.1.2: labels, each after its length, until one of length 0.
    private static func name(in message: [UInt8]) -> String {
        var labels: [String] = []
        var index = 12
        while index < message.count, message[index] > 0 {
            let end = min(message.count, index + 1 + Int(message[index]))
            labels.append(String(decoding: message[(index + 1)..<end], as: UTF8.self))
            index = end
        }
        return labels.joined(separator: ".")
    }
}

/// Programs that see mounts of their own (mount_namespaces(7)).
enum Mounts {
    private static let unshare = "/usr/bin/unshare"
    /// The program under test.
    static let client = RunningProgram.folder.appending(path: "reveille-client").path

    /// Why tests that need them are skipped.
    static let arePossible: Bool = {
        let process = Process()
        process.executableURL = URL(filePath: unshare)
        process.arguments = flags + ["sh", "-c", "mount -t tmpfs none /mnt"]
        process.standardError = FileHandle.nullDevice
        guard (try? process.run()) != nil else { return false }
        process.waitUntilExit()
        return process.terminationStatus == 0
    }()

    /// A user who is not root becomes it in a namespace of users (user_namespaces(7)).
    private static var flags: [String] { geteuid() == 0 ? ["--mount"] : ["--mount", "-r"] }

    /// Runs a script of the shell to its end; `words` are its `$1` and so on.
    static func run(_ script: String, _ words: [String]) async throws -> (
        status: Int32, output: String
    ) {
        try await RunningProgram.run(
            path: unshare, flags + ["sh", "-c", script, "sh"] + words)
    }
}
