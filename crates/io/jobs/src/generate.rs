//! One generation of a server on this node: what it answers, not what its health page says.

use std::{
    io::{Read, Write},
    net::TcpStream,
    time::Duration,
};

use crosstie_launch::job_protocol::{GenerateRequest, JobCallError};
use serde_json::{Value, json};

const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
const MAX_ANSWER: u64 = 1 << 20;

pub(crate) fn generate(ask: &GenerateRequest) -> Result<String, JobCallError> {
    let unusable = |why: String| JobCallError::Generate {
        address: ask.address,
        why,
    };
    let answer = post(ask).map_err(|error| unusable(error.to_string()))?;
    let answer = String::from_utf8_lossy(&answer);
    let (head, body) = answer
        .split_once("\r\n\r\n")
        .ok_or_else(|| unusable("no HTTP".to_owned()))?;
    let status = head.lines().next().unwrap_or_default();
    if status.split(' ').nth(1) != Some("200") {
        let plain: String = status.chars().filter(|c| !c.is_control()).collect();
        return Err(unusable(plain));
    }
    // Without chunks the body is the JSON itself; with them, each line of sizes is no JSON.
    let json = body.find('{').map(|start| &body[start..]);
    let json = json.and_then(|text| Some(&text[..=text.rfind('}')?]));
    let value: Option<Value> = json.and_then(|text| serde_json::from_str(text).ok());
    let text = value.and_then(|value| value["content"].as_str().map(str::to_owned));
    text.filter(|text| !text.is_empty())
        .ok_or_else(|| unusable("it generated nothing".to_owned()))
}

fn post(ask: &GenerateRequest) -> std::io::Result<Vec<u8>> {
    let mut stream = TcpStream::connect_timeout(&ask.address, CONNECT_TIMEOUT)?;
    let limit = Duration::from_secs(ask.seconds.max(1).into());
    stream.set_read_timeout(Some(limit))?;
    stream.set_write_timeout(Some(limit))?;
    let body = json!({
        "prompt": ask.prompt, "n_predict": ask.tokens, "temperature": 0, "top_k": 1, "seed": 1,
        "cache_prompt": false, "stream": false,
    })
    .to_string();
    // HTTP/1.0: the answer ends with the connection.
    let request = format!(
        "POST /completion HTTP/1.0\r\nHost: {}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
        ask.address,
        body.len()
    );
    stream.write_all(request.as_bytes())?;
    let mut answer = Vec::new();
    stream.take(MAX_ANSWER).read_to_end(&mut answer)?;
    Ok(answer)
}

#[cfg(test)]
mod tests {
    use std::{
        io::{BufRead, BufReader},
        net::TcpListener,
        thread,
    };

    use super::*;

    fn answered(answer: &'static str) -> Result<String, JobCallError> {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let server = thread::spawn(move || {
            let (stream, _) = listener.accept().unwrap();
            let mut lines = BufReader::new(&stream).lines();
            while !lines.next().unwrap().unwrap().is_empty() {}
            (&stream).write_all(answer.as_bytes()).unwrap();
        });
        let generated = generate(&GenerateRequest {
            address,
            prompt: "a".to_owned(),
            tokens: 4,
            seconds: 5,
        });
        server.join().unwrap();
        generated
    }

    #[test]
    fn only_words_count_as_an_answer() {
        let good = "HTTP/1.0 200 OK\r\nA: b\r\n\r\n{\"content\": \"so it goes\"}";
        assert_eq!(answered(good).unwrap(), "so it goes");
        let loading = answered("HTTP/1.1 503 Service Unavailable\r\n\r\n{}").unwrap_err();
        assert!(loading.to_string().contains("503"), "{loading}");
        let empty = answered("HTTP/1.1 200 OK\r\n\r\n{\"content\": \"\"}").unwrap_err();
        assert!(empty.to_string().contains("generated nothing"), "{empty}");
        assert!(answered("SSH-2.0-OpenSSH\r\n").is_err());
    }
}
