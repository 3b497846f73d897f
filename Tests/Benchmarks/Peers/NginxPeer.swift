private import Foundation
private import Glibc
import TestSupport
import WakeSystem

/// nginx with its module nchan (Debian: libnginx-mod-nchan) as a server of event streams.
final class NginxPeer {
    private let program: String
    private let place: StorePlace
    private let module: String

    /// nil where it is not installed.
    init?(_ setting: Setting) throws {
        place = StorePlace(in: setting.directory)
        let modules = ["/usr/lib/nginx/modules", "/usr/share/nginx/modules"]
            .map { $0 + "/ngx_nchan_module.so" }
        guard let program = InstalledPrograms.path("nginx") ?? Self.administrators,
            let module = modules.first(where: Files.exists)
        else {
            setting.skip("nginx with nchan: install the package libnginx-mod-nchan")
            return nil
        }
        self.program = program
        self.module = module
    }

    private static var administrators: String? {
        Files.exists("/usr/sbin/nginx") ? "/usr/sbin/nginx" : nil
    }

    private var socket: String { place.path + "/nginx.sock" }

    /// Memory of its one worker for each stream: the anonymous part, and the shared one that the
    /// module keeps subscribers' channels in.
    func idle(_ count: Int) throws -> Measurement {
        // Once fewer than a sixteenth are left, nginx closes those that have not asked yet
        // (`ngx_drain_connections` in ngx_connection.c).
        let most = count + count / 8 + 512
        let configuration = """
            load_module \(module);
            daemon off;
            worker_processes 1;
            worker_rlimit_nofile \(most);
            pid \(place.path)/nginx.pid;
            error_log \(place.path)/error.log;
            events { worker_connections \(most); }
            http {
                access_log off;
                client_body_temp_path \(place.path)/body;
                proxy_temp_path \(place.path)/proxy;
                fastcgi_temp_path \(place.path)/fastcgi;
                uwsgi_temp_path \(place.path)/uwsgi;
                scgi_temp_path \(place.path)/scgi;
                nchan_shared_memory_size 256M;
                server {
                    listen unix:\(socket);
                    location = /v1/wakes {
                        nchan_subscriber eventsource;
                        nchan_channel_id wakes;
                        nchan_subscriber_timeout 0;
                    }
                }
            }

            """
        let file = place.path + "/nginx.conf"
        try configuration.write(toFile: file, atomically: true, encoding: .utf8)
        try? FileManager.default.removeItem(atPath: socket)
        guard let process = MeasuredProcess([program, "-c", file, "-p", place.path]) else {
            throw BenchFailure("nginx does not start")
        }
        // To its end: the worker is ended by its master.
        defer {
            process.terminate()
            _ = process.end()
        }
        let address = ServiceAddress.unix(socket)
        for _ in 0..<1000 {
            if let descriptor = address.connect() {
                close(descriptor)
                let worker = try worker(of: Int(process.identifier))
                return try StreamPlace.idle(
                    count, .init("GET", "/v1/wakes", "Accept: text/event-stream\r\n"), address,
                    process: worker
                ) { Self.memory(of: worker) }
            }
            poll(nil, 0, 10)
        }
        throw BenchFailure("nginx does not listen")
    }

    private func worker(of master: Int) throws -> Int {
        for _ in 0..<1000 {
            let path = "/proc/\(master)/task/\(master)/children"
            let text = (try? String(contentsOfFile: path, encoding: .utf8)) ?? ""
            if let worker = text.split(separator: " ").first.flatMap({ Int($0) }) { return worker }
            poll(nil, 0, 10)
        }
        throw BenchFailure("nginx has no worker")
    }

    /// `RssAnon` and `RssShmem` of proc(5).
    private static func memory(of process: Int) -> Int? {
        guard let text = try? String(contentsOfFile: "/proc/\(process)/status", encoding: .utf8)
        else { return nil }
        let lines = text.split(separator: "\n").filter {
            $0.hasPrefix("RssAnon:") || $0.hasPrefix("RssShmem:")
        }
        return lines.reduce(0) { sum, line in
            let number = line.split { $0 == " " || $0 == "\t" }.dropFirst().first
            return sum + (number.flatMap { Int($0) } ?? 0) * 1024
        }
    }
}
