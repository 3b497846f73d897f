import Testing
import WakeHTTP
import WakeModel
import WakePush

@testable import WakeServer

@Suite("The configuration file")
struct ConfigurationTests {
    private func parse(_ text: String) throws -> Configuration {
        try ConfigurationParser.parse(text, directory: "/base")
    }

    @Test("the file that init writes says the defaults")
    func template() throws {
        let off = try parse(Configuration.template(hasVAPIDKey: false))
        #expect(off == Configuration(directory: "/base"))
        var on = try parse(Configuration.template(hasVAPIDKey: true))
        #expect(on.webPush == WebPushConfiguration(key: "/base/keys/vapid.key"))
        on.webPush = nil
        on.sections = off.sections
        #expect(on == off)
        #expect(try parse("") == Configuration(directory: "/base"))
    }

    @Test("paths are relative to the file, addresses take all their forms")
    func values() throws {
        let configuration = try parse(
            """
            [http]
            listen = [::1]:9000   # a comment
            proxy-protocol = on
            [admin]
              listen=unix:/run/admin.sock
            [store]
            data = state
            keys = /etc/keys
            [log]
            level = debug
            """)
        #expect(configuration.listen == .tcp(host: "::1", port: 9000))
        #expect(configuration.proxyProtocol)
        #expect(configuration.admin == .unix(path: "/run/admin.sock"))
        #expect(configuration.data == "/base/state")
        #expect(configuration.keys == "/etc/keys")
        #expect(configuration.logLevel == .debug)
    }

    @Test("a comment starts at white space, so that a path may have a number sign in it")
    func comments() throws {
        let configuration = try parse(
            "# all\n[store]  # so\ndata = a#b # c#d\nkeys = k\t# tab\n  # indented")
        #expect(configuration.data == "/base/a#b" && configuration.keys == "/base/k")
    }

    @Test("event streams are silent for less than what fronts wait, and as long as is set")
    func keepAlive() throws {
        func limits(_ text: String) throws -> (longest: Int, jitter: Int) {
            let configuration = try parse(text)
            let budget = try DescriptorBudget(configuration, limit: 65_536)
            let limits = configuration.httpLimits(budget)
            return (limits.streamKeepAliveSeconds, limits.streamKeepAliveJitterSeconds)
        }
        // Debian's haproxy.cfg: 50 s; nginx, Cloudflare's and Amazon's balancers: 60 s and more.
        let usual = try limits("")
        #expect(usual.longest < 50 && usual.jitter > 0 && usual.jitter < usual.longest / 2)
        for seconds in [10, 240] {
            let set = try limits("[http]\nstream-keep-alive-seconds = \(seconds)")
            #expect(set.longest == seconds && set.jitter > 0 && set.jitter < seconds / 2)
        }
        // Clients count on the protocol's 240 s, and give up at 600 s.
        for seconds in [0, 9, 241] {
            #expect(throws: SettingsFault.self) {
                try parse("[http]\nstream-keep-alive-seconds = \(seconds)")
            }
        }
    }

    @Test("an admin listener on TCP has a token, and its path is relative to the file")
    func adminToken() throws {
        let configuration = try parse("[admin]\nlisten = localhost:81\ntoken = keys/t")
        #expect(configuration.admin == .tcp(host: "localhost", port: 81))
        #expect(configuration.adminToken == "/base/keys/t")
        #expect(configuration.knowsAddresses == false)
        #expect(try parse("[http]\nlisten = *:80").knowsAddresses)
        #expect(try parse("[http]\nproxy-protocol = on").knowsAddresses)
    }

    @Test(
        "every mistake is named with its line",
        arguments: [
            ("[http", "line 1: a section must end with ]"),
            ("\n[htp]", "line 2: unknown section [htp]; did you mean [http]?"),
            ("listen = 1", "line 1: listen stands before the first [section]"),
            ("[http]\nlisten", "line 2: expected key = value"),
            ("[http]\nlitsen = a:1", "line 2: unknown key litsen in [http]; did you mean listen?"),
            ("[http]\nzzz = 1", "line 2: unknown key zzz in [http]"),
            ("[http]\nlisten = a:1\nlisten = a:1", "line 3: listen is set twice"),
            ("[http]\nlisten =", "line 2: listen takes HOST:PORT or unix:PATH"),
            ("[http]\nlisten = host", "line 2: listen takes HOST:PORT or unix:PATH"),
            ("[http]\nlisten = ::1:80", "line 2: listen takes HOST:PORT or unix:PATH"),
            ("[http]\r\nlisten", "line 2: expected key = value"),
            ("[http]\nlisten = a:65536", "line 2: listen takes HOST:PORT or unix:PATH"),
            (
                "[admin]\nlisten = 0.0.0.0:9000",
                "line 2: listen takes unix:PATH, or a PORT on 127.0.0.1, [::1] or localhost"
            ),
            (
                "[admin]\nlisten = 127.evil.example:9000",
                "line 2: listen takes unix:PATH, or a PORT on 127.0.0.1, [::1] or localhost"
            ),
            (
                "[admin]\nlisten = [::1]:9000",
                "line 2: listen on TCP needs a token in [admin], as every user of this machine can "
                    + "connect: token = FILE, made by `reveille keygen --kind admin FILE`"
            ),
            (
                "[store]\ndata = a\0b",
                "line 2: a NUL byte, which a power cut leaves: bring the file back from a copy"
            ),
            (
                "[http]\nconnections = 15",
                "line 2: connections takes a whole number from 16 to 1000000"
            ),
            ("[feed]\nserve = yes", "line 2: serve takes on or off"),
            (
                "[feed]\npoll-seconds = 5",
                "line 2: poll-seconds takes a whole number from 900 to 86400"
            ),
            ("[log]\nlevel = loud", "line 2: level takes error, info or debug"),
        ])
    func mistakes(_ text: String, _ message: String) {
        let error = #expect(throws: SettingsFault.self) { try parse(text) }
        #expect(error?.message == message)
    }
}
