//! The JSON Schema of the spec files, made from the types in `raw`, with the vocabulary's words filled in. The same
//! schema, read back as a [`Shape`], is what the walk checks files against; so what an editor accepts and what Kiln
//! accepts cannot drift apart.

use crate::error::Noun;
use crate::spec::raw;
use crate::spec::vocabulary::Vocabulary;
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, BTreeSet};

/// One JSON Schema (draft 2020-12) for both kinds of spec file: what `kiln spec schema` prints.
///
/// ```
/// let schema = kiln_codegen::spec::schema(&kiln_codegen::vocabulary(&[]));
/// assert_eq!(schema["oneOf"][0]["title"], "kernel spec");
/// ```
pub fn schema(vocabulary: &Vocabulary) -> Value {
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Kiln spec",
        "description": "A kernel spec or a CPU file.",
        "oneOf": [kernel_schema(vocabulary), cpu_schema(vocabulary)],
    })
}

pub(crate) fn kernel_schema(vocabulary: &Vocabulary) -> Value {
    schema_of::<raw::KernelFile>("kernel spec", vocabulary)
}

pub(crate) fn cpu_schema(vocabulary: &Vocabulary) -> Value {
    schema_of::<raw::CpuFile>("CPU file", vocabulary)
}

fn schema_of<T: JsonSchema>(title: &str, vocabulary: &Vocabulary) -> Value {
    let settings = SchemaSettings::draft2020_12().with(|settings| settings.inline_subschemas = true);
    let mut schema = settings.into_generator().into_root_schema_for::<T>().to_value();
    refine(&mut schema, vocabulary);
    if let Value::Object(schema) = &mut schema {
        schema.remove("$schema");
        schema.insert("title".to_owned(), json!(title));
    }
    schema
}

/// Drops `null`, which TOML does not have, writes a choice of words as `enum`, and puts the vocabulary's words in the
/// place of `x-words`.
fn refine(schema: &mut Value, vocabulary: &Vocabulary) {
    match schema {
        Value::Object(keys) => {
            drop_null(keys);
            words_of_choice(keys);
            if let Some(Value::String(list)) = keys.get("x-words").cloned() {
                match keys.get_mut("items") {
                    Some(Value::Object(item)) => {
                        keys_of_list(item, &list, vocabulary);
                        keys.remove("x-words");
                    }
                    _ => keys_of_list(keys, &list, vocabulary),
                }
            }
            keys.values_mut().for_each(|value| refine(value, vocabulary));
        }
        Value::Array(items) => items.iter_mut().for_each(|item| refine(item, vocabulary)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// `Option` comes out as `"type": [T, "null"]`, or as `"anyOf": [T, {"type": "null"}]`.
fn drop_null(keys: &mut Map<String, Value>) {
    if let Some(Value::Array(types)) = keys.get_mut("type") {
        types.retain(|kind| kind != "null");
        if let [only] = types.as_slice() {
            let only = only.clone();
            keys.insert("type".to_owned(), only);
        }
    }
    let null = json!({"type": "null"});
    if let Some(Value::Array(choices)) = keys.get("anyOf")
        && let [Value::Object(choice), other] = choices.as_slice()
        && *other == null
    {
        let choice = choice.clone();
        keys.remove("anyOf");
        for (key, value) in choice {
            keys.entry(key).or_insert(value);
        }
    }
}

/// An enum with documented variants comes out as `"oneOf": [{"const": WORD}, …]`; the documentation goes into the
/// description.
fn words_of_choice(keys: &mut Map<String, Value>) {
    let Some(Value::Array(choices)) = keys.get("oneOf") else { return };
    let words: Vec<Value> = choices.iter().filter_map(|choice| choice.get("const").cloned()).collect();
    if words.is_empty() || words.len() != choices.len() {
        return;
    }
    let mut description = keys.get("description").and_then(Value::as_str).unwrap_or("").to_owned();
    for choice in choices {
        if let (Some(word), Some(text)) = (choice["const"].as_str(), choice["description"].as_str()) {
            description.push_str(&format!("\n{word}: {text}"));
        }
    }
    keys.remove("oneOf");
    keys.insert("type".to_owned(), json!("string"));
    keys.insert("enum".to_owned(), Value::Array(words));
    keys.insert("description".to_owned(), json!(description.trim_start()));
}

fn keys_of_list(keys: &mut Map<String, Value>, list: &str, vocabulary: &Vocabulary) {
    keys.insert("x-words".to_owned(), json!(list));
    match list {
        "features" => keys.insert("enum".to_owned(), json!(vocabulary.features)),
        "kernels" if vocabulary.stems.is_empty() => keys.insert("enum".to_owned(), json!(vocabulary.kernels)),
        "kernels" => {
            let stems: Vec<String> = vocabulary.stems.iter().map(|stem| stem.replace('.', "\\.")).collect();
            let made_up = json!({"pattern": format!("^({})[a-z][a-z0-9_]*$", stems.join("|"))});
            keys.insert("anyOf".to_owned(), json!([{"enum": vocabulary.kernels}, made_up]));
            keys.insert("x-stems".to_owned(), json!(vocabulary.stems))
        }
        "cost_keys" => keys.insert("enum".to_owned(), json!(vocabulary.cost_keys)),
        "strategies" => {
            // Of kernels whose names specs make up, any: they all have the same.
            let made_up = vocabulary.stems.iter().map(|stem| format!("{stem}x"));
            let kernels = vocabulary.kernels.iter().map(|kernel| (*kernel).to_owned()).chain(made_up);
            let words: BTreeSet<&str> = kernels.flat_map(|kernel| (vocabulary.strategies)(&kernel)).collect();
            keys.insert("enum".to_owned(), json!(words))
        }
        // Open: a CPU's own file, beside the spec, adds a word.
        "schedules" => keys.insert("examples".to_owned(), json!(schedules(vocabulary, []))),
        list => panic!("raw.rs names the list of words `{list}`, which the vocabulary does not have"),
    };
}

/// The words of `schedule`.
pub(crate) fn schedules<'a>(vocabulary: &Vocabulary<'a>, cpus: impl IntoIterator<Item = &'a str>) -> BTreeSet<&'a str> {
    ["generic", "source"].into_iter().chain(vocabulary.cpus.iter().copied()).chain(cpus).collect()
}

/// What a value must be: a schema in a form that can be matched on.
#[derive(Debug)]
pub(crate) enum Shape {
    /// A table with these keys and no others.
    Table(Table),
    /// A table whose keys are words, all with values of one shape.
    Map { words: Words, value: Box<Shape> },
    /// A list of items of one shape.
    List { item: Box<Shape>, empty: bool, unique: bool },
    /// A list with one item of each of these names and shapes.
    Tuple(Vec<(String, Shape)>),
    /// An integer in a range.
    Integer { min: i128, max: i128 },
    /// One of these integers.
    Choice(Vec<i128>),
    /// A number over one bound and not over the other.
    Number { above: f64, max: f64 },
    /// A string.
    Text { empty: bool, words: Option<Words> },
    /// `true` or `false`, or only one of them.
    Boolean(Option<bool>),
}

/// The keys of a table.
#[derive(Debug)]
pub(crate) struct Table {
    pub keys: BTreeMap<String, Shape>,
    pub required: Vec<String>,
    pub groups: Vec<Group>,
}

/// Keys of which one must be there; `exclusive`: only one.
#[derive(Debug)]
pub(crate) struct Group {
    pub keys: Vec<String>,
    pub exclusive: bool,
}

/// A list of words, closed but for names that begin with a stem.
#[derive(Debug)]
pub(crate) struct Words {
    pub noun: Noun,
    pub words: Vec<String>,
    pub stems: Vec<String>,
}

impl Shape {
    /// Reads a schema back.
    ///
    /// # Panics
    /// When `raw` uses a part of JSON Schema that is not known here, since a rule that nobody checks is worse than none.
    pub(crate) fn of(schema: &Value) -> Shape {
        let Some(keys) = schema.as_object() else { panic!("not a schema: {schema}") };
        const KNOWN: [&str; 19] = [
            "additionalProperties",
            "anyOf",
            "const",
            "description",
            "enum",
            "examples",
            "exclusiveMinimum",
            "format",
            "items",
            "maxItems",
            "maximum",
            "minItems",
            "minLength",
            "minimum",
            "oneOf",
            "pattern",
            "prefixItems",
            "properties",
            "propertyNames",
        ];
        const ALSO_KNOWN: [&str; 6] = ["required", "title", "type", "uniqueItems", "x-stems", "x-words"];
        if let Some(key) = keys.keys().find(|key| !KNOWN.contains(&key.as_str()) && !ALSO_KNOWN.contains(&key.as_str()))
        {
            panic!("a schema with `{key}`, which the walk does not check: {schema}");
        }
        match schema["type"].as_str() {
            Some("object") => match &schema["additionalProperties"] {
                Value::Bool(false) => Shape::Table(Table {
                    keys: shapes(&schema["properties"]),
                    required: strings(&schema["required"]),
                    groups: groups(schema),
                }),
                value => {
                    let Some(words) = words(&schema["propertyNames"]) else { panic!("a map without words: {schema}") };
                    Shape::Map { words, value: Box::new(Shape::of(value)) }
                }
            },
            Some("array") => match schema["prefixItems"].as_array() {
                Some(items) => Shape::Tuple(items.iter().map(|item| (title(item), Shape::of(item))).collect()),
                None => Shape::List {
                    item: Box::new(Shape::of(&schema["items"])),
                    empty: schema["minItems"].as_u64().unwrap_or(0) == 0,
                    unique: schema["uniqueItems"] == true,
                },
            },
            Some("integer") => match (&schema["enum"], schema["minimum"].as_i64(), schema["maximum"].as_i64()) {
                (Value::Array(choices), ..) => {
                    Shape::Choice(choices.iter().filter_map(Value::as_i64).map(i128::from).collect())
                }
                (_, Some(min), Some(max)) => Shape::Integer { min: min.into(), max: max.into() },
                _ => panic!("an integer without bounds: {schema}"),
            },
            Some("number") => match (schema["exclusiveMinimum"].as_f64(), schema["maximum"].as_f64()) {
                (Some(above), Some(max)) => Shape::Number { above, max },
                _ => panic!("a number without bounds: {schema}"),
            },
            Some("string") => {
                Shape::Text { empty: schema["minLength"].as_u64().unwrap_or(0) == 0, words: words(schema) }
            }
            Some("boolean") => Shape::Boolean(schema["const"].as_bool()),
            _ => panic!("a schema of no known type: {schema}"),
        }
    }

    /// `a list of integers`, or with `many` just `lists of integers`.
    pub(crate) fn describe(&self, many: bool) -> String {
        let (one, all) = match self {
            Shape::Table(_) | Shape::Map { .. } => ("a table", "tables"),
            Shape::Integer { .. } | Shape::Choice(_) => ("an integer", "integers"),
            Shape::Number { .. } => ("a number", "numbers"),
            Shape::Text { .. } => ("a string", "strings"),
            Shape::Boolean(_) => ("true or false", "booleans"),
            Shape::List { item, .. } => {
                let items = item.describe(true);
                return if many { format!("lists of {items}") } else { format!("a list of {items}") };
            }
            Shape::Tuple(items) => {
                let names: Vec<&str> = items.iter().map(|(name, _)| name.as_str()).collect();
                return format!("[{}]", names.join(", "));
            }
        };
        if many { all.to_owned() } else { one.to_owned() }
    }

    /// Every key that this shape has at any depth, with the sections that have it.
    pub(crate) fn sections(&self, section: &str, found: &mut BTreeMap<String, Vec<String>>) {
        match self {
            Shape::Table(table) => {
                for (key, shape) in &table.keys {
                    found.entry(key.clone()).or_default().push(section.to_owned());
                    shape.sections(&section_of(key, shape), found);
                }
            }
            Shape::List { item, .. } => item.sections(section, found),
            Shape::Map { .. }
            | Shape::Tuple(_)
            | Shape::Integer { .. }
            | Shape::Choice(_)
            | Shape::Number { .. }
            | Shape::Text { .. }
            | Shape::Boolean(_) => {}
        }
    }
}

/// How the section of a key looks in a file: `[[strategy]]` or `[machine]`.
pub(crate) fn section_of(key: &str, shape: &Shape) -> String {
    match shape {
        Shape::List { .. } => format!("[[{key}]]"),
        _ => format!("[{key}]"),
    }
}

fn shapes(properties: &Value) -> BTreeMap<String, Shape> {
    let properties = properties.as_object().into_iter().flatten();
    properties.map(|(key, schema)| (key.clone(), Shape::of(schema))).collect()
}

fn groups(schema: &Value) -> Vec<Group> {
    let mut groups = Vec::new();
    for (keyword, exclusive) in [("oneOf", true), ("anyOf", false)] {
        if let Some(choices) = schema[keyword].as_array() {
            let keys = choices.iter().flat_map(|choice| strings(&choice["required"])).collect();
            groups.push(Group { keys, exclusive });
        }
    }
    groups
}

fn words(schema: &Value) -> Option<Words> {
    let noun = match schema["x-words"].as_str() {
        Some("features") => Noun::Feature,
        Some("kernels") => Noun::Kernel,
        Some("cost_keys") => Noun::CostKey,
        // Which words are valid depends on the kernel, or on the files: the stage after the walk knows.
        Some("strategies" | "schedules") => return None,
        Some(list) => panic!("a list of words without a noun: {list}"),
        None => Noun::Word,
    };
    let list = if schema["x-stems"].is_array() { &schema["anyOf"][0]["enum"] } else { &schema["enum"] };
    list.as_array().map(|_| Words { noun, words: strings(list), stems: strings(&schema["x-stems"]) })
}

fn strings(list: &Value) -> Vec<String> {
    list.as_array().into_iter().flatten().filter_map(|item| item.as_str().map(str::to_owned)).collect()
}

fn title(schema: &Value) -> String {
    schema["title"].as_str().unwrap_or("item").to_owned()
}
