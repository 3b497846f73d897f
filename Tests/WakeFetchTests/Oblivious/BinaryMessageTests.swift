import TestSupport
import Testing
import WakeModel
import WakeSystem

@testable import WakeFetch

@Suite("Binary HTTP")
struct BinaryMessageTests {
    // RFC 9292 §5: a request of known and of unknown length, a response of unknown length after
    // two interim ones, and one of known length with a trailer.
    private static let request =
        "0003474554056874747073000a2f68656c6c6f2e747874406c0a757365722d61"
        + "67656e74346375726c2f372e31362e33206c69626375726c2f372e31362e3320"
        + "4f70656e53534c2f302e392e376c207a6c69622f312e322e3304686f73740f77"
        + "77772e6578616d706c652e636f6d0f6163636570742d6c616e67756167650665"
        + "6e2c206d690000"
    private static let openRequest =
        "0203474554056874747073000a2f68656c6c6f2e7478740a757365722d616765"
        + "6e74346375726c2f372e31362e33206c69626375726c2f372e31362e33204f70"
        + "656e53534c2f302e392e376c207a6c69622f312e322e3304686f73740f777777"
        + "2e6578616d706c652e636f6d0f6163636570742d6c616e677561676506656e2c"
        + "206d6900000000000000000000000000"
    private static let openResponse =
        "0340660772756e6e696e670a22736c65657020313522004067046c696e6b233c"
        + "2f7374796c652e6373733e3b2072656c3d7072656c6f61643b2061733d737479"
        + "6c65046c696e6b243c2f7363726970742e6a733e3b2072656c3d7072656c6f61"
        + "643b2061733d7363726970740040c804646174651d4d6f6e2c203237204a756c"
        + "20323030392031323a32383a353320474d540673657276657206417061636865"
        + "0d6c6173742d6d6f6469666965641d5765642c203232204a756c203230303920"
        + "31393a31353a353620474d5404657461671422333461613338372d642d313536"
        + "3865623030220d6163636570742d72616e6765730562797465730e636f6e7465"
        + "6e742d6c656e67746802353104766172790f4163636570742d456e636f64696e"
        + "670c636f6e74656e742d747970650a746578742f706c61696e003348656c6c6f"
        + "20576f726c6421204d7920636f6e74656e7420696e636c756465732061207472"
        + "61696c696e672043524c462e0d0a0000"
    private static let response =
        "0140c8001d5468697320636f6e74656e7420636f6e7461696e732043524c462e"
        + "0d0a0d07747261696c65720474657874"

    private struct Text: Equatable {
        var control: [String]
        var fields: [[String]] = []
        var content = ""
        var trailers: [[String]] = []
    }

    private func text(_ bytes: [UInt8]) throws -> Text {
        let message = try BinaryMessage(bytes)
        func text(_ range: Range<Int>) -> String { String(decoding: bytes[range], as: UTF8.self) }
        let control =
            switch message.control {
            case .request(let method, let scheme, let authority, let path):
                [text(method), text(scheme), text(authority), text(path)]
            case .response(let status): [String(status)]
            }
        return Text(
            control: control, fields: message.fields.map { [text($0.name), text($0.value)] },
            content: String(decoding: message.content(in: bytes.span), as: UTF8.self),
            trailers: message.trailers.map { [text($0.name), text($0.value)] })
    }

    @Test("reads the requests of RFC 9292, whole and without what is empty at their end")
    func requests() throws {
        let expected = Text(
            control: ["GET", "https", "", "/hello.txt"],
            fields: [
                ["user-agent", "curl/7.16.3 libcurl/7.16.3 OpenSSL/0.9.7l zlib/1.2.3"],
                ["host", "www.example.com"], ["accept-language", "en, mi"],
            ])
        for (digits, removable) in [(Self.request, 2), (Self.openRequest, 12)] {
            let whole = try bytes(digits)
            for count in 0...removable {
                #expect(try text(Array(whole.dropLast(count))) == expected)
            }
            #expect(try text(whole + [0, 0, 0]) == expected)
            #expect(throws: BinaryMessageError.padding) {
                try BinaryMessage(whole + [0, 0, 1])
            }
        }
        // The terminator of the header section is not one of them.
        #expect(throws: BinaryMessageError.truncated) {
            try BinaryMessage(Array(bytes(Self.openRequest).dropLast(13)))
        }
    }

    @Test("reads the responses of RFC 9292, the final one after the interim ones")
    func responses() throws {
        let long = try text(bytes(Self.openResponse))
        #expect(long.control == ["200"])
        #expect(
            long.fields.map { $0[0] } == [
                "date", "server", "last-modified", "etag", "accept-ranges", "content-length",
                "vary",
                "content-type",
            ])
        #expect(long.content == "Hello World! My content includes a trailing CRLF.\r\n")
        #expect(
            try text(bytes(Self.response))
                == Text(
                    control: ["200"], content: "This content contains CRLF.\r\n",
                    trailers: [["trailer", "text"]]))
    }

    @Test("refuses every other truncation of the examples")
    func truncations() throws {
        for digits in [Self.request, Self.openRequest, Self.openResponse, Self.response] {
            let whole = try bytes(digits)
            var accepted = 0
            for count in 0..<whole.count {
                if (try? BinaryMessage(Array(whole[..<count]))) != nil { accepted += 1 }
            }
            // After the control data, the fields, the content, and between zeros.
            #expect(accepted <= 13, "\(digits.prefix(20))")
        }
    }

    @Test("writes what it reads, padded to one length")
    func writing() throws {
        var writer = BinaryMessageWriter(
            method: "PUT", scheme: "https", authority: Array("a.example".utf8),
            path: "/v1/registration", capacity: 256)
        writer.add("authorization", Array("Bearer x".utf8).span)
        let content = Array("{}".utf8)
        let finished = writer.finish(content: content.span, paddedTo: 256)
        let message = try #require(finished)
        #expect(message.count == 256)
        #expect(
            try text(message)
                == Text(
                    control: ["PUT", "https", "a.example", "/v1/registration"],
                    fields: [["authorization", "Bearer x"]], content: "{}"))
        var answer = BinaryMessageWriter(status: 204, capacity: 16)
        let nothing: [UInt8] = []
        let written = answer.finish(content: nothing.span)
        #expect(written == [1, 0x40, 204, 0x40, 0, 0, 0])
        var small = BinaryMessageWriter(status: 204, capacity: 16)
        let cut = small.finish(content: nothing.span, paddedTo: 6)
        #expect(cut == nil)
    }

    @Test(
        "refuses what HTTP/2 calls malformed, each for its reason",
        arguments: [
            ("04", .framing), ("4004", .framing), ("", .truncated), ("c0", .truncated),
            // Methods, schemes, authorities and paths.
            ("0000" + "0161" + "00" + "012f", .control),
            ("0001" + "20" + "0161" + "00" + "012f", .control),
            ("000147" + "00" + "00" + "012f", .control),
            ("000147" + "0161" + "00" + "00", .control),
            ("000147" + "0161" + "00" + "012a", .control),
            ("000147" + "0161" + "0140" + "012f", .control),
            ("000147" + "0161" + "00" + "022f20", .control),
            ("000147" + "0161" + "00" + "022f23", .control),
            ("0140c7" + "01", .truncated), ("014063", .control), ("014258", .control),
            // Names and values of fields.
            ("0140c8" + "02" + "0000", .field), ("0140c8" + "04" + "0141" + "0161", .field),
            ("0140c8" + "04" + "013a" + "0161", .field),
            ("0140c8" + "04" + "0161" + "010a", .field),
            ("0140c8" + "04" + "0161" + "0120", .field),
            ("0140c8" + "04" + "0161" + "0100", .field),
            ("0140c8" + "0c" + "0a636f6e6e656374696f6e" + "00", .field),
            ("0140c8" + "0d" + "0a636f6e6e656374696f6e" + "0161", .field),
            // Lengths that do not fit.
            ("0140c8" + "03" + "0161" + "01", .truncated),
            ("0140c8" + "03" + "0161" + "0161", .length),
            ("0140c8" + "02" + "0161" + "0161", .truncated), ("0140c8" + "bfffffff", .truncated),
            ("0140c8" + "ffffffffffffffff", .truncated),
            ("0140c8" + "00" + "0161" + "00" + "01", .padding),
        ] as [(String, BinaryMessageError)])
    func malformed(_ digits: String, _ error: BinaryMessageError) throws {
        let bytes = try bytes(digits)
        #expect(throws: error) { try BinaryMessage(bytes) }
    }

    @Test("refuses more fields than any of our messages has")
    func manyFields() throws {
        let field: [UInt8] = [1, 0x61, 0]
        func message(_ count: Int) -> [UInt8] {
            [3, 0x40, 200] + Array(repeating: field, count: count).flatMap(\.self) + [0, 0, 0]
        }
        let most = try BinaryMessage(message(BinaryMessage.fieldLimit))
        #expect(most.fields.count == BinaryMessage.fieldLimit)
        #expect(throws: BinaryMessageError.tooManyFields) {
            try BinaryMessage(message(BinaryMessage.fieldLimit + 1))
        }
    }
}
