import CRuntime
import Foundation
import TestSupport
import Testing

@testable import WakeFetch

@Suite("Loading libcurl", .timeLimit(.minutes(5)))
struct LibraryTests {
    private func load(_ name: String) -> MissingLibrary? {
        do throws(FetchError) {
            _ = try Fetcher(FetchConfiguration(libraryName: name))
            return nil
        } catch {
            guard case .libraryMissing(let library) = error else { return nil }
            return library
        }
    }

    @Test("a library that is not there is named, with the package that brings it")
    func missing() throws {
        let library = try #require(load("libcurl-absent.so.4"))
        #expect(library.reason == .notFound)
        #expect(
            library.description == """
                cannot load libcurl-absent.so.4
                hint: install the package libcurl4: apt-get install libcurl4
                """)
    }

    @Test("a file that is no library, or another library, is refused")
    func foreign() throws {
        let folder = try TemporaryDirectory()
        let text = folder.path + "/libcurl.so.4"
        try Data("not a library\n".utf8).write(to: URL(filePath: text))
        #expect(load(text)?.reason == .notFound)
        #expect(load("libm.so.6")?.reason == .functionMissing)
    }

    @Test("a failed attempt does not spoil the next, and loading twice is loading once")
    func repeated() async throws {
        #expect(load("libcurl-absent.so.4") != nil)
        let fetchers = try await withThrowingTaskGroup(of: Fetcher.self) { group in
            for _ in 0..<16 { group.addTask { try Fetcher.plain() } }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(fetchers.count == 16)
        let tables = try (0..<2).map { _ in try Curl(named: nil) }
        #expect(unsafe tables[0].library.table == tables[1].library.table)
        #expect(unsafe crt_curl_version(tables[0].library) >= 0x074400)
    }

    @Test("every option is known to the loaded library, also to Debian's GnuTLS build")
    func options() async throws {
        for name in [nil, "libcurl.so.4", "libcurl-gnutls.so.4"] {
            // Not every machine has the GnuTLS build; the others must be there.
            if let name, name.contains("gnutls"), load(name) != nil { continue }
            let fetcher = try Fetcher(FetchConfiguration(libraryName: name))
            let server = LoopbackServer.answering(answer("200 OK", "x"))
            defer { server.stop() }
            let (response, body) = try await fetcher.collect(.get(server.url()))
            #expect(response.contentLength == 1)
            #expect(body == [0x78])
            await fetcher.close()
        }
    }
}
