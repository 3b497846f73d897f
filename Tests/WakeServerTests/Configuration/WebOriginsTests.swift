import Testing
import WakeModel
import WakeServer

@Suite("Origins of web pages, as browsers write them")
struct WebOriginsTests {
    @Test(
        "are taken",
        arguments: [
            "https://app.example.org", "http://localhost:3000", "https://app.example.org:8443",
            "http://127.0.0.1:8080", "http://[::1]:8080", "capacitor://localhost",
            "moz-extension://5f2d6a57-0d63-4c1b-9d4e-2c3b1a0f9e8d",
            "https://a.example, https://b.example", "*",
        ])
    func taken(_ list: String) {
        #expect(WebOrigins(list: list)?.text == list)
    }

    @Test(
        "in a form that no browser sends are a mistake",
        arguments: [
            "", " ", "app.example.org", "https://", "https://app.example.org/",
            "https://app.example.org/path", "https://App.example.org", "HTTPS://app.example.org",
            "https://app.example.org:443", "http://app.example.org:80", "https://a.example:0",
            "https://a.example:65536", "https://a.example:", "https://user@a.example",
            "https://*.example.org", "null", "* *",
            "https://a.example *", "https://.a.example", "https://a.example.", "https://ä.example",
        ])
    func refused(_ list: String) {
        #expect(WebOrigins(list: list) == nil)
    }

    @Test("have commas or spaces between them", arguments: [",", "   ", " , "])
    func separated(_ separator: String) {
        #expect(
            WebOrigins(list: "https://a.b\(separator)https://c.d")?.text
                == "https://a.b, https://c.d")
    }

    @Test("are a key of the configuration, and none by default")
    func key() throws {
        let text = "[http]\norigins = https://a.example  # the app\n"
        let parsed = try ConfigurationParser.parse(text, directory: "/x")
        #expect(parsed.origins == .listed(["https://a.example"]))
        #expect(try ConfigurationParser.parse("", directory: "/x").origins == nil)
        #expect(throws: SettingsFault.self) {
            try ConfigurationParser.parse("[http]\norigins = example.org\n", directory: "/x")
        }
    }
}
