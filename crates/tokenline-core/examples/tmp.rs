use tokenline_core::*;
fn main(){
 let input=b"{\"a\":1}{\n  \xe2\x82\xe2\x82";
 for pieces in [vec![&input[..]], input.chunks(1).collect()] {
  let mut d=RecordDecoder::new(Options::lenient().items("/items").unwrap().limits(Limits{line_bytes:8,..Limits::default()}));
  for p in pieces { let mut r=p; loop { let x=d.decode(r); let c=x.consumed; let e=x.event.is_some(); if let Some(e)=x.event {println!("{e:?}");} r=&r[c..]; if !e {break} } }
  while let Some(e)=d.finish(){println!("F {e:?}");}
  println!("--");
 }
}
