import Glibc
import WakePush

/// Other HTTP/2 clients that send the same request to the same far end.
struct PushRivals {
    let workshop: PushWorkshop
    let shape: RequestTemplate

    /// Nil when the shape cannot be made.
    init?(_ workshop: PushWorkshop, port: Int) {
        guard let (shape, _) = workshop.shape(port: port) else { return nil }
        self.workshop = workshop
        self.shape = shape
        workshop.write(String(decoding: shape.body, as: UTF8.self), to: workshop.body)
        workshop.write(Self.script, to: workshop.script)
    }

    static func isInstalled(_ program: String) -> Bool {
        MeasuredProcess.run(["/bin/sh", "-c", "command -v \(program) >/dev/null"])
    }

    /// h2load of nghttp2, which sends `authorization` as a literal each time, too.
    func h2load(port: Int, count: Int) -> Measurement? {
        var words = [
            "h2load", "-n", "\(count)", "-c", "1", "-m", "1000", "-t", "1", "-d", workshop.body,
        ]
        for (name, value) in fields where name != "content-length" {
            words += ["-H", "\(name): \(value)"]
        }
        words.append("https://localhost:\(port)\(path)")
        guard let process = MeasuredProcess(words) else { return nil }
        var (seconds, succeeded): (Double?, Int?) = (nil, nil)
        while let line = process.line() {
            let words = line.split(separator: " ")
            if line.hasPrefix("finished in "), words.count > 2 { seconds = Self.seconds(words[2]) }
            // "status codes: 1000000 2xx, 0 3xx, …"
            if line.hasPrefix("status codes: "), words.count > 2 { succeeded = Int(words[2]) }
        }
        let end = process.end()
        guard end.isSuccess, let seconds, succeeded == count else { return nil }
        return Measurement(
            operations: count, seconds: seconds, processorSeconds: end.processorSeconds)
    }

    /// The http2 module of node.
    func node(port: Int, count: Int) -> Measurement? {
        var words = ["node", workshop.script, "\(port)", "\(count)", path]
        words += [workshop.certificate, String(decoding: shape.body, as: UTF8.self)]
        for (name, value) in fields { words += [name, value] }
        return Self.measure(words, count: count)
    }

    /// Runs a program that pushes, and says `accepted COUNT SECONDS`.
    static func measure(_ words: [String], count: Int) -> Measurement? {
        guard let process = MeasuredProcess(words) else { return nil }
        let said = process.line(beginning: "accepted ")?.split(separator: " ") ?? []
        let end = process.end()
        guard end.isSuccess, said.count == 3, Int(said[1]) == count,
            let seconds = Double(said[2])
        else { return nil }
        return Measurement(
            operations: count, seconds: seconds, processorSeconds: end.processorSeconds)
    }

    private var path: String { shape.path + String(repeating: "a", count: 64) }

    private var fields: [(String, String)] {
        shape.fields.map {
            (String(decoding: $0.name, as: UTF8.self), String(decoding: $0.value, as: UTF8.self))
        } + [("authorization", String(decoding: shape.authorization, as: UTF8.self))]
    }

    /// `2.54s`, `820.12ms` or `51us`.
    private static func seconds(_ text: Substring) -> Double? {
        let text = text.hasSuffix(",") ? text.dropLast() : text
        for (unit, scale) in [("ms", 1e-3), ("us", 1e-6), ("s", 1.0)] where text.hasSuffix(unit) {
            return Double(text.dropLast(unit.count)).map { $0 * scale }
        }
        return nil
    }

    private static let script = """
        const [port, count, path, ca, body, ...pairs] = process.argv.slice(2);
        const fields = {':method': 'POST', ':path': path};
        for (let i = 0; i < pairs.length; i += 2) fields[pairs[i]] = pairs[i + 1];
        const session = require('http2').connect(
            'https://localhost:' + port, {ca: require('fs').readFileSync(ca)});
        let begun = 0, accepted = 0, start;
        function push() {
            if (begun == count) return;
            begun++;
            const stream = session.request(fields);
            stream.on('response', (head) => { if (head[':status'] == 200) accepted++; });
            stream.resume();
            stream.on('close', () => {
                if (accepted == count) {
                    console.log('accepted', accepted, (performance.now() - start) / 1000);
                    session.destroy();
                } else push();
            });
            stream.end(body);
        }
        session.on('remoteSettings', () => {
            start = performance.now();
            for (let i = 0; i < 1000; i++) push();
        });

        """
}
