//! x
use std::io::Read;
use tokenline_core::*;
fn main() {
    let mut o = Options::lenient();
    for a in std::env::args().skip(1) {
        if a == "calls" { o = o.calls(CallFormat::Auto) } else { o = o.items(&a).unwrap() }
    }
    let mut v = Vec::new();
    std::io::stdin().read_to_end(&mut v).unwrap();
    let mut d = RecordDecoder::new(o);
    let show = |e: &LentEvent| match e {
        Event::Record(r) => {
            println!("record {}:{} {:?} {}", r.line, r.column, r.completion, r.value.raw().replace('\n', "⏎"))
        }
        Event::Rejected(x) => println!("REJECT {x} {:?}", x.span),
        Event::Note(x) => println!("note {x} {:?}", x.span),
        _ => {}
    };
    let mut r = &v[..];
    loop {
        let x = d.decode(r);
        let c = x.consumed;
        if let Some(e) = &x.event {
            show(e);
        }
        let e = x.event.is_some();
        r = &r[c..];
        if !e {
            break;
        }
    }
    while let Some(e) = d.finish() {
        show(&e);
    }
}
