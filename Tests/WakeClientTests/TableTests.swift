import Foundation
import TestSupport
import Testing
import WakeFeed

@testable import Reveille

@Suite("What has a name is listed once: errors, warnings, states")
struct TableTests {
    private static let errors =
        ClientError.examples + [
            .httpStatus(503, retryAfter: .seconds(60)), .httpStatus(404, retryAfter: nil),
            .relay(302, retryAfter: nil), .state(.unusable(13)), .state(.foreign),
            .configuration(.witnesses(line: 7)),
            .configuration(.libraryMissing(package: "libcurl4")),
            .metered(until: Date(timeIntervalSince1970: 1_800_000_000)),
        ]

    private static var warnings: [Warning] {
        let values = [
            Warning.Values(), .init(number: 2), .init(first: 7, last: 7), .init(first: 7, last: 9),
            .init(first: 7, last: 9, since: 1_800_000_000),
        ]
        return values.flatMap(Warning.all)
    }

    private static var states: [RegistrationState] {
        errors.flatMap { [.registering(failure: $0), .unregistering(failure: $0)] }
            + [.none, .registered, .registering(failure: nil), .proving, .suspended]
    }

    /// The numbers of an enumeration of reveille.h.
    private static func numbers(_ prefix: String) throws -> [Int32: String] {
        let lines = try Repository.text("Sources/CReveille/reveille.h").split(separator: "\n")
        return lines.reduce(into: [:]) { numbers, line in
            let words = line.split { " ,=".contains($0) }
            guard words.count > 1, words[0].hasPrefix(prefix), let number = Int32(words[1]) else {
                return
            }
            numbers[number] = String(words[0].dropFirst(prefix.count))
        }
    }

    @Test("a status is what it was after its JSON, with every error, state and stream")
    func status() throws {
        var status = ClientStatus()
        status.fingerprint = FeedFingerprint(
            text: "7 "
                + Array(repeating: "abcde", count: 8)
                .joined(separator: "-"))
        (status.sequence, status.unchecked) = (7, 8...9)
        status.lastChecked = Date(timeIntervalSince1970: 1_800_000_000)
        status.runningSince = status.lastChecked
        status.streamCutAfter = .seconds(60)
        for state in Self.states {
            status.registration = state
            status.failure = state.failure
            for stream in [StreamState.refused(status: 403), .silent, .unused, .waiting] {
                status.stream = stream
                for data in [Data(status.json.utf8), try JSONEncoder().encode(status)] {
                    #expect(try JSONDecoder().decode(ClientStatus.self, from: data) == status)
                }
            }
        }
        // A newer version has more, and no status has less.
        let more = "{\"delivered\":[1],\"new\":{}," + status.json.dropFirst()
        #expect(try JSONDecoder().decode(ClientStatus.self, from: Data(more.utf8)) == status)
        for (word, other) in [("waiting", "humming"), ("\"stream\"", "\"strom\""), ("7,", "null,")]
        {
            let text = status.json.replacing(word, with: other)
            #expect(throws: DecodingError.self) {
                try JSONDecoder().decode(ClientStatus.self, from: Data(text.utf8))
            }
        }
    }

    @Test("every error and warning comes back from what is stored of it")
    func coded() {
        for error in Self.errors { #expect(ClientError(text: error.text) == error) }
        #expect(Set(ClientError.examples.map(\.name)) == Set(ClientError.Name.allCases))
        for text in ["", "network 1", "http-status", "http-status x", "source", "tls tls"] {
            #expect(ClientError(text: text) == nil, "\(text)")
        }
        for warning in Self.warnings {
            #expect(Warning(code: warning.code, warning.values) == warning)
        }
        #expect(Set(Self.warnings.map(\.code)).count == Warning.Name.allCases.count)
        #expect(Warning(code: "stale", .init(number: 1)) == nil)
    }

    @Test("every error has a sentence and an exit status, and none names a code or a place")
    func texts() {
        let texts = Self.errors.flatMap { [$0.errorDescription, $0.recoverySuggestion] }
        for text in texts.compactMap(\.self) + Self.warnings.map(\.description) {
            #expect(text.hasSuffix(".") && text.first?.isLowercase == false, "\(text)")
            #expect(!text.contains("://") && !text.contains("error "))
        }
        let statuses: Set<Int32> = [1, 65, 74, 75, 78]
        for error in Self.errors {
            #expect(statuses.contains(error.exitStatus), "\(error)")
            // Time never mends what ends with 78, and always what ends with 75 but another process.
            #expect(!error.isTransient || error.exitStatus != 78)
            #expect(error.isTransient || error.exitStatus != 75 || error == .locked)
        }
        // A portal's page is one, long or short.
        #expect(ClientError.tooLarge.isTransient && ClientError.badSignature.isTransient)
    }

    @Test("the numbers are those of reveille.h, by their names")
    func numbers() throws {
        let errors = try Self.numbers("REVEILLE_ERROR_")
        for error in ClientError.examples where error.number != 1 {
            let words = error.text.split(separator: " ")[0].uppercased().replacing("-", with: "_")
            let name = words.replacing("CONFIGURATION_", with: "")
            let declared = errors[error.number] ?? "none"
            #expect(name == declared || name == declared + "_VIOLATION", "\(error)")
        }
        let warnings = try Self.numbers("REVEILLE_WARNING_")
        #expect(warnings.count == Warning.Name.allCases.count)
        for warning in Self.warnings {
            #expect(
                warnings[warning.number] == warning.code.uppercased().replacing("-", with: "_"))
        }
    }
}
