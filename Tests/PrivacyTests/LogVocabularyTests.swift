import Foundation
import TestSupport
import Testing
import WakeAudit
import WakeModel
import WakePush
import WakeServer
import WakeStore
import WakeSystem

/// The policy lists what a log may say; these tests fail when the program can say anything else.
@Suite("The log's vocabulary is closed")
struct LogVocabularyTests {
    /// One of each kind.
    private static let events: [LogEvent] = {
        var report = BroadcastReport()
        report.stopped = [.apns: "what the operator is told"]
        return [
            .started(port: 8080), .started(port: 0), .stopping, .stopped,
            .storeOpened(milliseconds: 3),
            .storeFailed,
            .broadcastStarted(sequence: 7, streams: 2, reasons: [.heartbeat, .watched]),
            .broadcastEnded(report), .planStretched(needed: 9, interval: 8),
            .headSeen(sequence: 7), .deletionBreakerTripped(.fcm),
            .broadcastResumed(permille: 5), .checkpointUnwritable,
            .gatewayStopped(.apns, .misconfigured(.apns(.requestRefused(status: 418)))),
            .gatewayStopped(.apns, .unavailable(.closed(.enhanceYourCalm), .apns)),
            .feedChanged(sequence: 7), .feedUnreadable, .feedRefreshFailed,
            .relayOn(installations: 3), .relayInstallationsUnusable,
            .relayBatch(accepted: 9, gone: 1, retried: 2, stopped: 0),
            .relayRefused(.relayBusy),
            .rotated(generation: 3, dropped: 5, kept: 7, milliseconds: 11),
            .rotationFailed(.keysUnwritable(28)),
            .rotationFileDamaged,
            .rotationUnwritable, .keysInMemory(forgotten: 4), .keysUnlocked,
            .trouble(.feedExpired), .troubleOver(.feedExpired), .logDropped(lines: 7),
            .reloaded(keys: 2, gateways: 1, restart: 1),
            .restartNeeded(SettingName.restarting[0]),
            .reloadRefused(.configuration, line: 12),
        ]
    }()

    private static let root = Repository.root

    private func policy() throws -> AuditPolicy {
        try AuditPolicy(PrivacyPolicy.document)
    }

    /// Of the log, but the sentences of commands.
    private func declared(_ program: String = "reveille") throws -> [AuditPolicy.Event] {
        try #require(policy().logs[program]).filter { !$0.isSentence }
    }

    private func source(_ path: String) throws -> String {
        try String(contentsOf: Self.root.appending(path: "Sources/" + path), encoding: .utf8)
    }

    @Test("every event is words of ours and numbers, and the audit finds nothing in it")
    func events() throws {
        let check = LogCheck(try policy())
        for event in Self.events {
            let letters = event.line.split { $0 == " " || $0 == "=" }.joined()
            #expect(letters.allSatisfy { $0.isNumber || $0.isLetter || "-+_".contains($0) })
            var findings = AuditFindings()
            check.run(Array("reveille info \(event.line)\n".utf8), &findings)
            #expect(findings.isEmpty, "\(event.line)")
        }
    }

    @Test("the events of the source, of this suite and of the policy are the same")
    func names() throws {
        let written = try source("WakeServer/Log.swift")
            .matches(of: /\(\s*\.(?:error|info|debug),\s*"([a-z-]+)[ "]/).map { String($0.1) }
        let declared = try self.declared().map(\.name)
        #expect(Set(written) == Set(declared))
        #expect(written.count == declared.count)
        let tried = Self.events.map { $0.line.split(separator: " ")[0] }
        #expect(Set(tried.map(String.init)) == Set(declared))
    }

    @Test("a witness's events are those of the policy, and the client has none")
    func others() throws {
        let written = try source("WakeServer/Witnesses/WitnessLog.swift")
            .matches(of: /"(?:error|info) ([a-z-]+)[ "]/).map { String($0.1) }
        #expect(try Set(written) == Set(declared("reveille-witness").map(\.name)))
        #expect(try declared("reveille-client").isEmpty)
        #expect(try policy().logs.count == 3)
    }

    @Test("every reason a gateway can stop for is in the policy")
    func reasons() throws {
        let folder = Self.root.appending(path: "Sources/WakePush")
        let files = try FileManager.default.subpathsOfDirectory(atPath: folder.path)
        var reasons: Set<String> = []
        for file in files where file.hasSuffix(".swift") {
            let text = try source("WakePush/" + file)
            for word in text.matches(of: /var (?:word|name): StaticString \{(?s:.*?)\n    \}/) {
                let type = text[..<word.range.lowerBound]
                    .matches(of: /\n(?:package )?(?:enum|struct|extension) (\w+)/).last.map(\.1)
                // What becomes of a single wake-up is counted, never said.
                let counted = [
                    "RetryCause", "APNsReason", "DeliveryClass", "RelayStop", "PushHostKind",
                ]
                if let type, counted.contains(String(type)) { continue }
                for literal in text[word.range].matches(of: /: "([a-z0-9-]+)"/) {
                    reasons.insert(String(literal.1))
                }
            }
        }
        #expect(reasons.count > 20)
        let forms = try declared().flatMap(\.fields).filter { $0.name == "reason" }
        guard case .words(let declared) = try #require(forms.first).form else {
            Issue.record("reasons are words")
            return
        }
        #expect(reasons.subtracting(declared) == [])
        #expect(Set(declared).subtracting(reasons) == [])
    }

    @Test("the words of the other fields are those of the program")
    func words() throws {
        let fields = try declared().flatMap(\.fields)
        func words(_ name: String) -> [String]? {
            guard case .words(let words) = fields.first(where: { $0.name == name })?.form else {
                return nil
            }
            return words
        }
        let failures: [RotationFailure] = [
            .unavailable, .keysUnwritable(5), .keysUnwritable(28),
        ]
        #expect(
            words("cause")
                == failures.map { failure in
                    let line = LogEvent.rotationFailed(failure).line
                    return String(line.drop { $0 != "=" }.dropFirst())
                })
        #expect(words("code") == Problem.allCases.map { String(describing: $0.code) })
        #expect(words("service") == PushService.allCases.map { String(describing: $0.name) })
        #expect(words("kind") == Trouble.allCases.map(\.rawValue))
        #expect(words("refusal") == ReloadRefusal.Cause.allCases.map(\.rawValue))
        #expect(Set(words("section") ?? []) == Set(SettingName.restarting.map(\.section)))
        #expect(Set(words("key") ?? []) == Set(SettingName.restarting.map(\.key)))
        #expect(words("goaway") == ["none"] + GoAwayReason.allCases.map(\.rawValue))
        let all: [BroadcastReasons] = [[], .heartbeat, .asked, .watched]
        #expect(words("reasons") == all.map(\.names))
        #expect(try policy().levels == LogLevel.allCases.map(\.rawValue))
    }
}
