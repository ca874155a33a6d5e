//! Readable JSON: values that fit on one line are on one line.

use serde_json::Value;

const WIDTH: usize = 100;

/// The value followed by a newline.
pub(super) fn text(value: &Value) -> String {
    let mut text = String::new();
    write(value, 0, 0, &mut text);
    text.push('\n');
    text
}

/// Writes a value at this depth, after the given number of bytes of its line.
fn write(value: &Value, depth: usize, before: usize, text: &mut String) {
    let line = flat(value);
    let parts: Vec<(String, &Value)> = match value {
        Value::Object(fields) => {
            let named = fields
                .iter()
                .map(|(name, field)| (format!("{}: ", flat(&name.as_str().into())), field));
            named.collect()
        }
        Value::Array(items) => items.iter().map(|item| (String::new(), item)).collect(),
        _ => Vec::new(),
    };
    // A comma may follow.
    if parts.is_empty() || before + line.len() < WIDTH {
        text.push_str(&line);
        return;
    }
    let is_list = value.is_array() && parts.iter().all(|(_, part)| part.is_string());
    let (open, close) = line.split_at(1);
    text.push_str(open);
    let indent = "  ".repeat(depth + 1);
    let mut column = WIDTH;
    for (number, (name, part)) in parts.iter().enumerate() {
        let width = flat(part).len() + ", ,".len();
        text.push_str(if number == 0 { "" } else { "," });
        if is_list && column + width <= WIDTH {
            text.push(' ');
            column += width - 1;
        } else {
            text.push('\n');
            text.push_str(&indent);
            column = indent.len() + width - 2;
        }
        text.push_str(name);
        write(part, depth + 1, indent.len() + name.len(), text);
    }
    text.push('\n');
    text.push_str(&indent[2..]);
    text.push_str(&close[close.len() - 1..]);
}

fn flat(value: &Value) -> String {
    match value {
        Value::Object(fields) => {
            let fields: Vec<_> = fields
                .iter()
                .map(|(name, field)| format!("{}: {}", flat(&name.as_str().into()), flat(field)))
                .collect();
            format!("{{{}}}", fields.join(", "))
        }
        Value::Array(items) => {
            let items: Vec<_> = items.iter().map(flat).collect();
            format!("[{}]", items.join(", "))
        }
        other => other.to_string(),
    }
}
