import Foundation
import TestSupport
import Testing

@Suite("What SECURITY.md says is in place")
struct SecurityTests {
    @Test(
        "the units give no capability, few system calls, and two directories to write to",
        arguments: ["Deploy/reveille.service", "Deploy/cluster/reveille@.service"])
    func unit(_ path: String) throws {
        let lines = try Repository.text(path).split(separator: "\n").map(String.init)
        for line in [
            "NoNewPrivileges=yes", "CapabilityBoundingSet=", "AmbientCapabilities=",
            "ProtectSystem=strict", "ProtectHome=yes", "PrivateTmp=yes", "PrivateDevices=yes",
            "RestrictAddressFamilies=AF_INET AF_INET6 AF_UNIX", "MemoryDenyWriteExecute=yes",
            "SystemCallFilter=@system-service", "SystemCallFilter=~@privileged @resources",
            "LimitCORE=0", "MemorySwapMax=0",
        ] {
            #expect(lines.contains(line), "\(line)")
        }
        // systemd.exec(5): what may be written to with ProtectSystem=strict.
        let names: [String] = lines.map { String($0.prefix { $0 != "=" }) }
        let writable = names.filter {
            ["ReadWritePaths", "BindPaths"].contains($0) || $0.hasSuffix("Directory")
        }
        #expect(writable == ["StateDirectory", "RuntimeDirectory"])
    }
}
